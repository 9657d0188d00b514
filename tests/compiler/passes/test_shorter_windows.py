"""Tests of windows with fewer taps: equal results on unusual shapes, and reasons for refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import compiler
from compiler.ir.graph import Graph
from compiler.ir.operator import Operator
from compiler.ops.convolution.window import Window
from compiler.ops.pooling.clipped import clipped
from compiler.ops.pooling.pool import average_pool, lp_pool, max_pool
from tests.onnx_nodes import by_onnxruntime, model_of

POOLS: list[tuple[str, dict[str, Any]]] = [
    ("1,3,7,6", {"kernel_shape": [41, 9], "pads": [20, 4, 20, 4]}),
    ("1,2,9,11", {"kernel_shape": [5, 7], "strides": [2, 3], "pads": [2, 1, 0, 3]}),
    ("2,3,21,18", {"kernel_shape": [9, 4], "strides": [3, 1], "ceil_mode": 1}),
    ("1,2,33,29", {"kernel_shape": [6, 5], "dilations": [3, 4], "pads": [3, 0, 1, 5]}),
    ("1,3,90", {"kernel_shape": [41], "pads": [7, 12]}),
    ("1,3,97", {"kernel_shape": [23], "dilations": [3], "strides": [2]}),
    ("1,2,8,9,10", {"kernel_shape": [4, 3, 5], "pads": [1, 1, 2, 2, 0, 1]}),
    ("1,2,13,17", {"kernel_shape": [7, 5], "auto_pad": "SAME_LOWER", "strides": [2, 1]}),
    ("1,2,5,4", {"kernel_shape": [1, 31], "pads": [0, 15, 0, 15]}),
]


@pytest.mark.parametrize("kind", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize(("shape", "attrs"), POOLS, ids=range(len(POOLS)))
def test_pools_keep_their_numbers(kind: str, shape: str, attrs: dict[str, Any]) -> None:
    x = np.random.default_rng(3).standard_normal([int(n) for n in shape.split(",")], np.float32)
    graph = _graph(kind, x, attrs)
    made = compiler.compile(graph).run({"x0": x})
    expected = compiler.reference(graph, {"x0": x})
    for name, value in expected.items():
        np.testing.assert_allclose(made[name], value, rtol=2e-6, atol=2e-6)


def _graph(kind: str, x: np.ndarray[Any, Any], attrs: dict[str, Any]) -> Graph:
    return compiler.load(model_of(kind, x, opset=22, **attrs)[0].SerializeToString())


OPEN_POOLS: list[tuple[str, str, dict[str, Any]]] = [
    ("by_axes", "N,3,H,W", {"kernel_shape": [5, 7], "strides": [2, 3], "pads": [2, 1, 0, 3]}),
    ("by_axes", "2,3,H,18", {"kernel_shape": [9, 4], "strides": [3, 1], "ceil_mode": 1}),
    ("by_axes", "N,2,H,W", {"kernel_shape": [6, 5], "dilations": [3, 4], "pads": [3, 0, 1, 5]}),
    ("by_axes", "N,2,13,17", {"kernel_shape": [9, 5], "pads": [4, 2, 4, 2]}),
    ("by_axes", "N,C,D,H,W", {"kernel_shape": [4, 3, 5], "pads": [1, 1, 2, 2, 0, 1]}),
    ("by_axes", "1,2,H,W",
     {"kernel_shape": [7, 5], "auto_pad": "SAME_LOWER", "strides": [2, 1], "ceil_mode": 1}),
    ("by_axes", "1,2,11,W", {"kernel_shape": [6, 5], "auto_pad": "SAME_UPPER", "strides": [1, 2]}),
    ("in_two", "N,3,L", {"kernel_shape": [41], "pads": [7, 12]}),
    ("in_two", "N,3,L", {"kernel_shape": [23], "dilations": [3]}),
]  # fmt: skip


@pytest.mark.parametrize("kind", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize(("rule", "shape", "attrs"), OPEN_POOLS, ids=range(len(OPEN_POOLS)))
def test_pools_of_open_sizes_keep_their_numbers(
    kind: str, rule: str, shape: str, attrs: dict[str, Any]
) -> None:
    """One program runs images of many sizes; windows exceed the smallest."""
    symbols = [s for s in shape.split(",") if s.isalpha()]
    graph = _open_graph(kind, shape, attrs)
    program = compiler.compile(graph)
    applied = [
        s.rule for e in program.trace.events for s in e.steps if s.outcome == "applied" and s.rule
    ]
    if rule == "by_axes" or kind == "MaxPool":
        assert any(name.endswith(rule) for name in applied)
    chance = np.random.default_rng(3)
    for size in (1, 2, 19) if len(symbols) > 4 else (1, 5, 19, 70, 83):
        given = {s: size + i if s not in "NC" else 1 + i for i, s in enumerate(symbols)}
        dims = [given[s] if s in given else int(s) for s in shape.split(",")]
        x = chance.standard_normal(dims, np.float32) - 3
        expected = compiler.reference(graph, {"x0": x})["y"]
        np.testing.assert_allclose(program.run({"x0": x})["y"], expected, rtol=2e-6, atol=2e-6)


def _open_graph(kind: str, shape: str, attrs: dict[str, Any]) -> Graph:
    sizes = [s if s.isalpha() else int(s) for s in shape.split(",")]
    x = helper.make_tensor_value_info("x0", TensorProto.FLOAT, sizes)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    node = helper.make_node(kind, ["x0"], ["y"], **attrs)
    model = helper.make_model(
        helper.make_graph([node], "g", [x], [y]), opset_imports=[helper.make_opsetid("", 22)]
    )
    return compiler.load(model.SerializeToString())


@pytest.mark.parametrize("attrs", [{"ceil_mode": 1}, {"auto_pad": "SAME_UPPER", "strides": [2]}])
def test_windows_whose_end_depends_on_an_open_size_stay_whole(attrs: dict[str, Any]) -> None:
    graph = _open_graph("MaxPool", "1,2,L", {"kernel_shape": [40], **attrs})
    steps = [s for e in compiler.compile(graph).trace.events for s in e.steps]
    reasons = [s.because for s in steps if s.rule == "max_pool_in_two"]
    assert reasons == ["the end of the windows depends on the open size of x0"]


_EFFICIENTNET: dict[str, Any] = {
    "kernel_shape": [1280, 1280], "strides": [1280, 1280], "ceil_mode": 1
}  # fmt: skip


def test_a_window_far_larger_than_its_image_is_one_reduction() -> None:
    x = np.random.default_rng(4).standard_normal((1, 40, 7, 5), np.float32)
    graph = _graph("AveragePool", x, _EFFICIENTNET)
    program = compiler.compile(graph)
    assert sum(k.flops for k in program.kernels) < 3 * x.size
    made = program.run({"x0": x})["y"]
    np.testing.assert_allclose(made, x.mean(axis=(2, 3), keepdims=True), rtol=1e-6, atol=1e-6)
    plain = compiler.compile(graph, pipeline="O0")
    assert sum(k.flops for k in plain.kernels) < 3 * x.size


@pytest.mark.parametrize("operator", [max_pool, average_pool, lp_pool], ids=lambda o: o.name)
def test_open_sizes_clip_large_windows_too(operator: Operator) -> None:
    graph = compiler.parse(f"""
    graph g(x0: f32[N,3,H,W]) {{
      y: f32[N,3,min((H+1279)//1280,(H-1)//1280+1),min((W+1279)//1280,(W-1)//1280+1)] =
        {operator.name}(x0, kernel=[1280,1280], strides=[1280,1280], pads=[0,0,0,0],
        dilations=[1,1], ceil_mode=true)
      return y
    }}
    """)
    program = compiler.compile(graph)
    for shape in ((1, 3, 7, 5), (2, 3, 40, 33)):
        x = np.random.default_rng(5).standard_normal(shape, np.float32)
        made = program.run({"x0": x})["y"]
        expected = compiler.reference(graph, {"x0": x})["y"]
        np.testing.assert_allclose(made, expected, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("image", [(1, 1), (1, 5), (2, 1)])
@pytest.mark.parametrize("dilation", [1, 2, 3])
def test_weights_that_meet_only_padding_are_left_out(image: tuple[int, int], dilation: int) -> None:
    chance = np.random.default_rng(6)
    x = chance.standard_normal((1, 2, *image), np.float32)
    w = chance.standard_normal((3, 2, 3, 3), np.float32)
    attrs: dict[str, Any] = {"pads": [dilation] * 4, "dilations": [dilation] * 2}
    expected = by_onnxruntime("Conv", x, w, opset=22, **attrs)
    model, _ = model_of("Conv", x, w, opset=22, **attrs)
    model.graph.initializer.append(numpy_helper.from_array(w, "x1"))
    del model.graph.input[1]
    program = compiler.compile(compiler.load(model.SerializeToString()))
    np.testing.assert_allclose(program.run({"x0": x})["y"], expected, rtol=1e-5, atol=1e-5)
    steps = [s for e in program.trace.events for s in e.steps if s.rule == "taps_off_the_image"]
    assert any(s.outcome == "applied" for s in steps)


def test_a_tap_that_some_place_sees_stays() -> None:
    graph = compiler.parse("""
    graph g(x: f32[1,2,2,4]) {
      const w: f32[1,2,3,1] = literal(1.0,2.0,3.0,4.0,5.0,6.0)
      y: f32[1,1,2,4] = conv(x, w, strides=[1,1], pads=[1,0,1,0], dilations=[1,1])
      return y
    }
    """)
    steps = [s for e in compiler.compile(graph).trace.events for s in e.steps]
    reasons = [s.because for s in steps if s.rule == "taps_off_the_image"]
    assert reasons == ["each tap of the window reads the image at some position"]


def test_clipping_keeps_the_taps_that_some_place_sees() -> None:
    w = Window((9,), (2,), (3,), (10,), (10,))
    assert clipped([4], [2], w) == Window((2,), (2,), (3,), (1,), (10,))
