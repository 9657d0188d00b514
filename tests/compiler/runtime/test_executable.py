"""Tests of executables: values in other layouts, wrong cost records, long programs."""

import itertools

import numpy as np
import pytest

import compiler
from compiler.errors import CompileError
from compiler.runtime.compare import compare, worst
from compiler.runtime.inputs import random_inputs
from compiler.runtime.thunks.arrange import arrange
from compiler.runtime.thunks.select import FallbackThunk, NativeThunk, Selector, ViewThunk
from compiler.targets.options import CodeOptions


def graph_of(*lines: str, signature: str, results: str) -> compiler.Graph:
    body = "\n".join(f"  {line}" for line in lines)
    return compiler.parse(f"graph g({signature}) {{\n{body}\n  return {results}\n}}")


@pytest.mark.parametrize("layout", ["{c4}", "{halo=1x2}", "{c4,halo=2x1}", "{c16,halo=1x1}"])
def test_layouts_pass_through_kernels_fallbacks_and_results(layout: str) -> None:
    graph = graph_of(
        f"a: f32[2,6,3,5]{layout} = relu(x)",
        f"b: f32[2,6,3,5]{layout} = onnx.Mish(a, opset=18)",
        f"c: f32[2,6,3,5]{layout} = add(b, a)",
        "d: f32[2,6,3,5] = neg(c)",
        signature="x: f32[2,6,3,5]",
        results="d, c, again=c",
    )
    program = compiler.compile(graph, pipeline="none")
    assert [k.native for k in program.kernels] == [True, False, True, True]
    inputs = random_inputs(graph, 1)
    assert worst(compare(program.run(inputs), compiler.reference(graph, inputs))) < 1e-5


def test_a_reshape_between_layouts_is_work_and_between_plain_ones_is_not() -> None:
    graph = graph_of(
        "const s: i64[2] = literal(2,24)",
        "a: f32[2,4,2,3] = relu(x)",
        "v: f32[2,24] = reshape(a, s)",
        "b: f32[2,4,2,3]{c4} = relu(x)",
        "w: f32[2,24] = reshape(b, s)",
        "y: f32[2,24] = add(v, w)",
        signature="x: f32[2,4,2,3]",
        results="y",
    )
    thunks = list(Selector(graph, CodeOptions()).thunks())
    kinds = {w.node.output: type(w) for w in thunks}
    assert kinds["v"] is ViewThunk
    assert kinds["w"] is not ViewThunk
    inputs = random_inputs(graph)
    made = compiler.compile(graph, pipeline="none").run(inputs)
    assert worst(compare(made, compiler.reference(graph, inputs))) < 1e-5


def test_results_that_nothing_computes_are_copies_in_one_native_call() -> None:
    graph = graph_of(
        "const s: i64[2] = literal(3,2)",
        "const c: f32[2] = literal(0.5,-1)",
        "v: f32[3,2] = reshape(x, s)",
        "a: f32[2,3] = relu(x)",
        "b: f32[3,2] = reshape(a, s)",
        signature="x: f32[2,3]",
        results="v, a, x, b, again=a, c, more=c",
    )
    program = compiler.compile(graph)
    assert program.fixed is not None
    assert program.fixed.executable is not None
    assert program.fixed.executable.direct is not None
    inputs = random_inputs(graph, 2)
    made, needed = program.run(inputs), compiler.reference(graph, inputs)
    assert list(made) == list(needed)
    for name, array in needed.items():
        np.testing.assert_array_equal(made[name], array, strict=True)
    pairs = itertools.combinations([*made.values(), *inputs.values(), program.run(inputs)["c"]], 2)
    assert not any(np.shares_memory(one, other) for one, other in pairs)


def test_reasons_say_why_a_node_is_a_fallback() -> None:
    graph = graph_of(
        "a: f32[3] = onnx.Mish(x, opset=18)",
        "n: i64[1,k] = onnx.NonZero(a, opset=17)",
        "t: i64[k,1] = transpose(n, perm=[1,0])",
        "c: c64[3] = cast(x, to=c64)",
        "e: c64[3] = neg(c)",
        signature="x: f32[3]",
        results="t, e",
    )
    thunks = {w.node.output: w for w in Selector(graph, CodeOptions()).thunks()}

    def because(name: str) -> str:
        thunk = thunks[name]
        assert isinstance(thunk, FallbackThunk), f"{name} is {type(thunk).__name__}"
        return thunk.because

    assert because("a") == "onnx.Mish has no lowering to loops"
    assert "known only when the program runs" in because("t")
    assert "c64" in because("e")


def test_results_are_made_where_the_user_gets_them() -> None:
    graph = graph_of(
        "a: f32[4,4] = exp(x)",
        "y: f32[4,4] = neg(a)",
        "z: f32[4,4] = exp(y)",
        signature="x: f32[4,4]",
        results="z, y, again=y",
    )
    thunks = list(Selector(graph, CodeOptions()).thunks())
    assert all(isinstance(w, NativeThunk) for w in thunks)
    arrangement = arrange(graph, thunks)
    spaces = {v: p.space for v, p in arrangement.places.items()}
    assert spaces == {"x": "input", "a": "arena", "y": "output", "z": "output"}
    assert [r.name for _, r in arrangement.copied] == ["again"]
    assert [b.name for b in arrangement.plan.buffers] == ["a"]


def test_a_shape_that_a_model_states_wrongly_for_a_result_does_no_harm() -> None:
    graph = graph_of("a: f32[9] = onnx.Mish(x, opset=18)", signature="x: f32[4]", results="a")
    program = compiler.compile(graph, pipeline="none", verify=False)
    inputs = {"x": np.array([0.5, -1, 2, 3], np.float32)}
    needed = np.asarray(inputs["x"]) * np.tanh(np.log1p(np.exp(inputs["x"])))
    np.testing.assert_allclose(program.run(inputs)["a"], needed, rtol=1e-5)


@pytest.mark.parametrize("results", ["b", "a, b", "a, again=a"])
def test_a_shape_that_a_model_states_wrongly_is_told(results: str) -> None:
    graph = graph_of(
        "a: f32[9] = onnx.Mish(x, opset=18)",
        "b: f32[9] = neg(a)",
        signature="x: f32[4]",
        results=results,
    )
    program = compiler.compile(graph, pipeline="none", verify=False)
    with pytest.raises(CompileError) as caught:
        program.run({"x": np.zeros(4, np.float32)})
    assert caught.value.code == "E-GRAPH-TYPE"
    assert "float32[4]" in caught.value.message


def test_long_chains_with_branches_are_planned_close_to_the_bound() -> None:
    lines = ["v0: f32[32,32] = exp(x)"]
    for i in range(1, 40):
        other = max(0, i - 5) if i % 3 else i - 1
        lines.append(f"v{i}: f32[32,32] = add(v{i - 1}, v{other})")
        if i % 4 == 0:
            lines.append(f"t{i}: f32[32,32] = transpose(v{i}, perm=[1,0])")
    lines.append("y: f32[32,32] = add(v39, t36)")
    graph = graph_of(*lines, signature="x: f32[32,32]", results="y")
    program = compiler.compile(graph, pipeline="none")
    memory = program.memory
    assert memory.lower_bound_bytes <= memory.peak_bytes <= 1.2 * memory.lower_bound_bytes
    small = {"x": random_inputs(graph)["x"] / 100}
    assert worst(compare(program.run(small), compiler.reference(graph, small))) < 1e-5
