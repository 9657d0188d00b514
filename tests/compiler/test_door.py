"""Tests of the public API, as documentation and external checks use it."""

import subprocess
import sys
from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import pytest

import compiler
import compiler.reference  # the module of this name must not hide the public function
from compiler.runtime.inputs import random_inputs

TEXT = (
    "graph g(x: f32[2,3], w: f32[3,4]) {\n"
    "  h: f32[2,4] = matmul(x, w) @ dense\n"
    "  y: f32[2,4] = relu(h) @ act\n"
    "  return y\n}"
)


def test_a_graph_goes_through_text_and_keeps_its_nodes() -> None:
    graph = compiler.parse(TEXT)
    assert isinstance(graph, compiler.Graph)
    assert compiler.parse(str(graph)) == graph
    assert [(n.name, n.op, n.origins) for n in graph.nodes] == [
        ("dense", "matmul", ("dense",)),
        ("act", "relu", ("act",)),
    ]


def test_a_program_shows_trace_kernels_and_memory() -> None:
    program = compiler.compile(compiler.parse(TEXT), pipeline="default", target="host", threads=1,
                               precision="f32", inputs={"x": (2, 3)})  # fmt: skip
    assert isinstance(program, compiler.Program)
    assert program.trace is not None
    for event in program.trace.events:
        assert isinstance(event.name, str)
        assert isinstance(event.changed, bool)
        assert event.seconds >= 0
        assert isinstance(event.before, compiler.Graph)
        assert isinstance(event.after, compiler.Graph)
        for step in event.steps:
            assert step.rule
            assert step.outcome in ("applied", "declined")
            assert step.because
            assert isinstance(step.took, tuple)
            assert isinstance(step.made, tuple)
    for kernel in program.kernels:
        assert isinstance(kernel.native, bool)
        assert kernel.name
        assert kernel.origins
        assert min(kernel.flops, kernel.bytes_read, kernel.bytes_written) >= 0
    memory = program.memory
    assert memory.lower_bound_bytes <= memory.peak_bytes
    for b in memory.buffers:
        assert 0 <= b.start < b.end
        assert 0 <= b.offset <= memory.peak_bytes - b.size


def test_running_profiling_and_the_reference_agree_on_names() -> None:
    graph = compiler.parse(TEXT)
    program = compiler.compile(graph)
    inputs = random_inputs(graph)
    outputs = program.run(inputs)
    expected = compiler.reference(graph, inputs)
    assert list(outputs) == list(expected) == ["y"]
    assert isinstance(outputs["y"], np.ndarray)
    np.testing.assert_allclose(outputs["y"], expected["y"], rtol=1e-5, atol=1e-6)
    seconds = program.profile(inputs, repeat=2)
    assert list(seconds) == [k.name for k in program.kernels]


@pytest.mark.parametrize("kind", ["graph", "loops", "llvm", "asm", "object"])
def test_every_fixed_level_is_emitted(kind: str) -> None:
    emitted = compiler.compile(compiler.parse(TEXT)).emit(kind)
    assert isinstance(emitted, bytes if kind == "object" else str)
    assert emitted


def test_errors_are_one_class_with_everything_a_user_needs() -> None:
    with pytest.raises(compiler.CompileError) as caught:
        compiler.load(b"no model at all")
    error = caught.value
    assert error.code.startswith("E-")
    assert error.message
    assert error.hint
    assert isinstance(error.notes, tuple)
    assert str(error.where) is not None


def test_a_name_that_the_door_does_not_have_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_thing"):
        compiler.no_such_thing  # noqa: B018
    assert {"load", "compile", "parse", "reference"} <= set(dir(compiler))


def test_the_door_is_light_until_it_is_used() -> None:
    code = (
        "import sys, compiler, compiler.ir.graph, compiler.memory\n"
        "heavy = {'llvmlite', 'onnx', 'flask', 'click', 'numba', 'ortools'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "compiler.parse('graph g(x: f32[2]) {\\n  y: f32[2] = neg(x)\\n  return y\\n}')\n"
        "assert not {'llvmlite', 'flask'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("inputs", [None, [1], "x", 5])
def test_inputs_without_names_are_refused(inputs: Any) -> None:
    graph = compiler.parse("graph g(x: f32[2]) {\n  y: f32[2] = relu(x)\n  return y\n}")
    program = compiler.compile(graph)
    for run in (program.run, program.profile, lambda i: compiler.reference(graph, i)):
        with pytest.raises(compiler.CompileError) as e:
            run(inputs)
        assert e.value.code == "E-INPUT-NAME"


@pytest.mark.parametrize(
    "inputs", [5, "x", [1], {"x": 5}, {"x": None}, {"x": (1.5,)}, {"x": "a"}, {"x": (-1,)}]
)
def test_shapes_that_are_none_are_refused(inputs: Any) -> None:
    graph = compiler.parse("graph g(x: f32[N]) {\n  y: f32[N] = relu(x)\n  return y\n}")
    with pytest.raises(compiler.CompileError) as e:
        compiler.compile(graph, inputs=inputs)
    assert e.value.code == "E-INPUT-SHAPE"


def onnx_bytes(
    op: str, shape: list[int], *constants: Any, n_inputs: int = 1, **attrs: Any
) -> bytes:
    """Return a model of one node with inputs x0, x1, ... of one shape, and constants (or None)."""
    names = [f"x{i}" for i in range(n_inputs)]
    stored = [
        onnx.numpy_helper.from_array(np.asarray(c), f"c{i}")
        for i, c in enumerate(constants)
        if c is not None
    ]
    read = ["" if c is None else f"c{i}" for i, c in enumerate(constants)]
    node = onnx.helper.make_node(op, [*names, *read], ["y"], **attrs)
    value = onnx.helper.make_tensor_value_info
    given = [value(n, onnx.TensorProto.FLOAT, shape) for n in names]
    graph = onnx.helper.make_graph([node], "g", given, [value("y", 1, None)], stored)
    opsets = [onnx.helper.make_opsetid("", 17)]
    return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def test_thousands_of_operands_are_no_deep_recursion() -> None:
    graph = compiler.load(onnx_bytes("Sum", [4], n_inputs=3000))
    inputs = random_inputs(graph, 1)
    wanted = sum(a.astype(np.float64) for a in inputs.values())
    np.testing.assert_allclose(compiler.reference(graph, inputs)["y"], wanted, atol=1e-3)


@pytest.mark.parametrize(
    ("model", "code"),
    [
        (onnx_bytes("Unsqueeze", [2], np.arange(70)), "E-OP-SHAPE"),
        (
            onnx_bytes("MaxPool", [1, 1, 8, 8], kernel_shape=[2**62, 1], pads=[2**62, 0, 0, 0]),
            "E-OP-ATTRIBUTE",
        ),
    ],
    ids=["rank", "endless window"],
)
def test_what_no_machine_could_compute_is_refused_when_read(model: bytes, code: str) -> None:
    with pytest.raises(compiler.CompileError) as e:
        compiler.load(model)
    assert e.value.code == code


@pytest.mark.parametrize("size", [2**30, 2**14])
def test_a_result_larger_than_memory_is_refused_when_run(size: int) -> None:
    graph = compiler.load(onnx_bytes("ConstantOfShape", [], np.array([size] * 3), n_inputs=0))
    with pytest.raises(compiler.CompileError) as e:
        compiler.compile(graph).run({})
    assert e.value.code == "E-RUN-MEMORY"


def test_random_inputs_larger_than_memory_are_refused() -> None:
    with pytest.raises(compiler.CompileError) as e:
        random_inputs(compiler.load(onnx_bytes("Relu", [2**39])))
    assert e.value.code == "E-RUN-MEMORY"


def test_an_attribute_that_is_no_number_goes_through_text() -> None:
    graph = compiler.load(onnx_bytes("LeakyRelu", [2], alpha=float("nan")))
    assert compiler.parse(str(graph)) == graph
    assert compiler.load(onnx_bytes("LeakyRelu", [2], alpha=0.5)) != graph


def test_the_mean_of_windows_in_the_padding_alone_is_0_in_either_way_to_run() -> None:
    graph = compiler.load(
        onnx_bytes("AveragePool", [1, 1, 5, 4], kernel_shape=[2, 2], pads=[3, 4, 4, 3])
    )
    inputs = random_inputs(graph)
    wanted = compiler.reference(graph, inputs)["y"]
    assert not wanted[..., 0, :].any()
    assert wanted.any()
    np.testing.assert_allclose(compiler.compile(graph).run(inputs)["y"], wanted, rtol=1e-5)


def test_sizes_that_are_none_fail_when_run() -> None:
    model = onnx_bytes("Resize", [1, 1, 4, 4], None, None, np.array([1, 1, -8, 0]))
    with pytest.raises(compiler.CompileError):
        compiler.compile(model).run({"x0": np.ones((1, 1, 4, 4), np.float32)})


@pytest.mark.parametrize("shape", [(0, 1), (1, 0), (0, 0), (2, 3)])
def test_sizes_of_zero_go_through_shape_arithmetic(shape: tuple[int, int]) -> None:
    graph = compiler.parse("""graph g(x: f32[a,b]) {
  const whole: i64[2] = literal(-1,1)
  t: f32[b,a] = transpose(x, perm=[1,0])
  u: f32[b,1,a] = unsqueeze(t, axes=[1])
  v: f32[b,a] = squeeze(u, axes=[1])
  y: f32[a*b,1] = reshape(v, whole, allowzero=false)
  return t, y
}""")
    x = np.ones(shape, np.float32)
    got = compiler.compile(graph).run({"x": x})
    assert got["t"].shape == shape[::-1]
    assert got["y"].shape == (x.size, 1)
