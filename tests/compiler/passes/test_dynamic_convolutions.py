"""Tests of convolutions with zero points known at run time: exact integer products."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import compiler
from compiler.ir.graph import Graph, all_nodes
from compiler.ir.verify import verify
from compiler.passes import run_pipeline
from compiler.reference import reference

Array = np.ndarray[Any, Any]


def weights(shape: tuple[int, ...], dtype: type) -> Array:
    """Return quantized weights from the minimum to the maximum of their type."""
    ends = np.iinfo(dtype)
    made = np.random.default_rng(2).integers(ends.min, ends.max + 1, shape).astype(dtype)
    made.reshape(-1)[:2] = ends.min, ends.max
    return made


def model_of(shape: tuple[int | str, ...], w: Array, zero: int | list[int], **window: Any) -> bytes:
    """Return a dynamically quantized image, its convolution, and the nodes that usually follow."""
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        helper.make_node("ConvInteger", ["q", "w", "z", "v"], ["sums"], **window),
        helper.make_node("Cast", ["sums"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["f", "s"], ["m"]),
        helper.make_node("Relu", ["m"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "dynamic",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [
            helper.make_tensor_value_info("sums", TensorProto.INT32, None),
            helper.make_tensor_value_info("y", TensorProto.FLOAT, None),
        ],
        [
            numpy_helper.from_array(w, "w"),
            numpy_helper.from_array(np.array(zero, w.dtype), "v"),
        ],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return made.SerializeToString()


def image(*shape: int) -> Array:
    """Return numbers, most of them positive."""
    return np.random.default_rng(7).normal(0.4, 1, shape).astype(np.float32)


def ops(graph: Graph) -> list[str]:
    return [n.op for n in all_nodes(graph)]


SAME: dict[str, Any] = {"pads": [1, 1, 1, 1]}
CASES: list[tuple[str, tuple[int, ...], tuple[int, ...], type, int | list[int], dict[str, Any]]] = [
    ("far from the middle", (1, 24, 9, 13), (24, 24, 3, 3), np.uint8, 178, SAME),
    ("in the middle", (1, 24, 9, 13), (40, 24, 3, 3), np.uint8, 128, SAME),
    ("at the end", (1, 16, 5, 6), (17, 16, 3, 3), np.uint8, 255, SAME),
    ("few channels, uneven borders", (2, 5, 9, 14), (7, 5, 3, 2), np.uint8, 3,
     {"pads": [1, 0, 2, 1], "strides": [2, 1]}),
    ("one for each filter", (1, 48, 6, 7), (20, 48, 1, 1), np.uint8, list(range(100, 120)), {}),
    ("one for each filter, with borders", (1, 18, 6, 7), (5, 18, 3, 3), np.int8,
     [0, 90, -128, 127, 1], SAME),
    ("signed", (1, 32, 16, 7), (32, 32, 3, 3), np.int8, -100, SAME),
    ("signed around 0", (1, 32, 16, 7), (32, 32, 3, 3), np.int8, 0, SAME),
    ("each channel alone", (1, 32, 6, 7), (32, 1, 3, 3), np.uint8, 7, {"group": 32, **SAME}),
    ("groups of vectors", (1, 32, 16, 7), (32, 16, 3, 3), np.uint8, [9, 130] * 16,
     {"group": 2, "pads": [2, 1, 2, 1], "dilations": [2, 1]}),
    ("groups of few", (1, 6, 7, 9), (9, 2, 3, 3), np.uint8, 121, {"group": 3}),
    ("one channel", (1, 1, 16, 24), (24, 1, 3, 3), np.uint8, 121, {"strides": [2, 2], **SAME}),
    ("by the sizes", (1, 3, 15, 24), (24, 3, 3, 3), np.uint8, 121,
     {"auto_pad": "SAME_LOWER", "strides": [2, 2]}),
    ("along one axis", (1, 17, 23), (24, 17, 3), np.uint8, 121, {"pads": [2, 1]}),
    ("along three axes", (1, 8, 4, 5, 6), (16, 8, 2, 3, 3), np.uint8, 100, {"pads": [1] * 6}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "kernel", "dtype", "zero", "window"),
    [c[1:] for c in CASES],
    ids=[c[0] for c in CASES],
)
def test_sums_are_exact(
    shape: tuple[int, ...],
    kernel: tuple[int, ...],
    dtype: type,
    zero: int | list[int],
    window: dict[str, Any],
) -> None:
    graph = compiler.load(model_of(shape, weights(kernel, dtype), zero, **window))
    x = {"x": image(*shape)}
    expected = reference(graph, x)
    lifted, _ = run_pipeline(graph, "hoist_zero_points,decompose_dynamic_quantization")
    verify(lifted)
    np.testing.assert_array_equal(reference(lifted, x)["sums"], expected["sums"])
    program = compiler.compile(graph, trace=False)
    made = program.run(x)
    np.testing.assert_array_equal(made["sums"], expected["sums"])
    np.testing.assert_allclose(made["y"], expected["y"], rtol=1e-6)
    assert all(k.native for k in program.kernels)


@pytest.mark.parametrize(("groups", "shape"), [(2, (32, 16, 3, 3)), (32, (32, 1, 3, 3))])
@pytest.mark.parametrize("zero", [0, [0, 255] * 16])
def test_weights_as_far_from_their_zero_points_as_bytes_can_be(
    groups: int, shape: tuple[int, ...], zero: int | list[int]
) -> None:
    """255 and -255 exceed the sum of two i8, which random weights seldom show."""
    w = weights(shape, np.uint8)
    w[:, :, 1] = np.where(np.arange(32) % 2, 0, 255)[:, None, None]
    graph = compiler.load(model_of((1, 32, 6, 5), w, zero, group=groups, **SAME))
    lifted, _ = run_pipeline(graph, "hoist_zero_points")
    assert "conv_codes" in ops(lifted)
    x = {"x": image(1, 32, 6, 5)}
    expected = reference(graph, x)["sums"]
    np.testing.assert_array_equal(reference(lifted, x)["sums"], expected)
    np.testing.assert_array_equal(compiler.compile(graph, trace=False).run(x)["sums"], expected)


def test_open_sizes_have_the_same_borders() -> None:
    w = weights((24, 16, 3, 3), np.uint8)
    graph = compiler.load(model_of((1, 16, "h", 9), w, 90, **SAME))
    assert "conv_codes" in ops(run_pipeline(graph, "hoist_zero_points")[0])
    program = compiler.compile(graph, trace=False)
    for height in (1, 7):
        x = {"x": image(1, 16, height, 9)}
        np.testing.assert_array_equal(program.run(x)["sums"], reference(graph, x)["sums"])


def test_sums_of_windows_are_needed_only_where_weights_less_their_zero_points_are_no_bytes() -> (
    None
):
    def after(dtype: type, zero: int) -> list[str]:
        graph = compiler.load(model_of((1, 16, 5, 6), weights((17, 16, 3, 3), dtype), zero, **SAME))
        return ops(run_pipeline(graph, "hoist_zero_points")[0])

    assert after(np.uint8, 128).count("window_sums") == 0
    assert after(np.int8, 0).count("window_sums") == 0
    assert after(np.uint8, 127).count("window_sums") == 1
    assert after(np.int8, 1).count("window_sums") == 1


def test_images_stay_in_blocks_from_one_convolution_to_the_next() -> None:
    """Range, quantization and padding accept blocks, so no copy in plain order is needed."""
    chance = np.random.default_rng(1)
    nodes, stored, value = [], [], "x"
    for i in range(2):
        q, s, z = (f"{n}{i}" for n in "qsz")
        nodes.append(helper.make_node("DynamicQuantizeLinear", [value], [q, s, z]))
        nodes.append(helper.make_node("ConvInteger", [q, f"w{i}", z, "v"], [f"i{i}"], **SAME))
        nodes.append(helper.make_node("Cast", [f"i{i}"], [f"f{i}"], to=TensorProto.FLOAT))
        nodes.append(helper.make_node("Mul", [f"f{i}", s], [f"m{i}"]))
        nodes.append(helper.make_node("Sigmoid", [f"m{i}"], [f"y{i}"]))
        w = chance.integers(0, 256, (32, 32, 3, 3)).astype(np.uint8)
        stored.append(numpy_helper.from_array(w, f"w{i}"))
        value = f"y{i}"
    made = helper.make_graph(
        nodes,
        "two",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 32, 9, 8])],
        [helper.make_tensor_value_info(value, TensorProto.FLOAT, None)],
        [*stored, numpy_helper.from_array(np.array(119, np.uint8), "v")],
    )
    opsets = [helper.make_opsetid("", 17)]
    graph = compiler.load(helper.make_model(made, opset_imports=opsets).SerializeToString())
    after, _ = run_pipeline(graph, "default")
    assert ops(after).count("relayout") <= 2, "of the input and of the output"
    codes = [str(n.types[0]) for n in after.nodes if n.op in ("quantize", "pad")]
    assert len(codes) == 4
    assert all("{c16" in t for t in codes[1:]), "the input may be transposed as bytes"
    x = {"x": image(1, 32, 9, 8)}
    (expected,), (found,) = reference(graph, x).values(), compiler.compile(graph).run(x).values()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("zero", [[90] * 24, list(range(100, 124))])
def test_lifted_sums_are_exact_in_onnx_too(zero: list[int]) -> None:
    graph = compiler.load(model_of((1, 16, 9, 8), weights((24, 16, 3, 3), np.uint8), zero, **SAME))
    lifted, _ = run_pipeline(graph, "hoist_zero_points,decompose_dynamic_quantization")
    session = onnxruntime.InferenceSession(
        compiler.to_onnx(lifted), providers=["CPUExecutionProvider"]
    )
    x = {"x": image(1, 16, 9, 8)}
    found = dict(zip([o.name for o in session.get_outputs()], session.run(None, x), strict=True))
    np.testing.assert_array_equal(np.asarray(found["sums"]), reference(graph, x)["sums"])
