"""Ten small models of different kinds, for tests of the figures that commands and page show."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from tests.onnx_models import BOOL, F32, I64, graph, model, node, stored, value
from tests.recurrent_models import layers

SAMPLES = Path(__file__).resolve().parents[1] / "samples"
Shapes = Mapping[str, Sequence[int]]


def normal(*shape: int, seed: int = 0) -> Any:
    return (0.3 * np.random.default_rng(seed).standard_normal(shape)).astype(np.float32)


def sample(name: str) -> onnx.ModelProto:
    """Return a sample for a batch of one image."""
    made = onnx.load(SAMPLES / f"{name}.onnx")
    for v in (*made.graph.input, *made.graph.output):
        for d in v.type.tensor_type.shape.dim:
            if d.dim_param:
                d.Clear()
                d.dim_value = 1
    return made


def convolutions() -> onnx.ModelProto:
    nodes = [
        node("Conv", ["x", "w1", "b1"], ["c1"], name="conv1", pads=[1, 1, 1, 1]),
        node("Relu", ["c1"], ["r1"], name="relu1"),
        node("MaxPool", ["r1"], ["p1"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", ["p1", "w2"], ["c2"], name="conv2"),
        node("GlobalAveragePool", ["c2"], ["y"], name="mean"),
    ]
    constants = [
        stored("w1", normal(8, 3, 3, 3)),
        stored("b1", normal(8)),
        stored("w2", normal(4, 8, 3, 3)),
    ]
    return model(nodes, [value("x", (1, 3, 12, 12))], [value("y", (1, 4, 1, 1))], constants)


def quantized() -> onnx.ModelProto:
    """Return a product of quantized weights: 160 i8 weights, 10 i32 biases, and scalar scales."""
    rng = np.random.default_rng(3)
    scales = [stored(n, np.float32(s)) for n, s in (("s", 0.02), ("ws", 0.01), ("ys", 0.05))]
    constants = [
        *scales,
        stored("z", np.uint8(128)),
        stored("w", rng.integers(-60, 60, (10, 16, 1, 1)), np.int8),
        stored("wz", np.int8(0)),
        stored("b", rng.integers(-99, 99, 10), np.int32),
    ]
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"], name="quantize"),
        node(
            "QLinearConv",
            ["q", "s", "z", "w", "ws", "wz", "ys", "z", "b"],
            ["p"],
            name="product",
        ),
        node("DequantizeLinear", ["p", "ys", "z"], ["y"], name="dequantize"),
    ]
    return model(nodes, [value("x", (1, 16, 4, 4))], [value("y", (1, 10, 4, 4))], constants)


def _branch(name: str, last: Sequence[Any], shape: Sequence[int] | None) -> Any:
    nodes = [
        node("MatMul", ["x", f"{name}w"], [f"{name}p"], name=f"{name}product"),
        node("Relu", [f"{name}p"], [f"{name}r"], name=f"{name}relu"),
        *last,
    ]
    weights = [stored(f"{name}w", normal(8, 8, seed=len(name)))]
    return graph(nodes, outputs=[value(f"{name}y", shape)], initialisers=weights, name=name)


def a_branch() -> onnx.ModelProto:
    """Return a model inside an `If` of which all is machine code: 128 weights in its branches."""
    branches = {
        f"{name}_branch": _branch(name, [node("Neg", [f"{name}r"], [f"{name}y"])], (2, 8))
        for name in ("then", "else")
    }
    nodes = [node("If", ["c"], ["y"], name="choose", **branches)]
    return model(nodes, [value("c", (), BOOL), value("x", (2, 8))], [value("y", (2, 8))])


def a_branch_by_the_reference() -> onnx.ModelProto:
    """Return a model inside an `If` whose branches contain sequences, which have no code."""
    branches: dict[str, Any] = {}
    for name in ("then", "else"):
        last = [
            node("SequenceConstruct", [f"{name}r", f"{name}p"], [f"{name}s"], name=f"{name}seq"),
            node("ConcatFromSequence", [f"{name}s"], [f"{name}y"], name=f"{name}join", axis=0),
        ]
        branches[f"{name}_branch"] = _branch(name, last, None)
    nodes = [node("If", ["c"], ["y"], name="choose", **branches)]
    return model(nodes, [value("c", (), BOOL), value("x", (2, 8))], [value("y", None)])


def a_loop() -> onnx.ModelProto:
    """Return five iterations that are too long to unroll into one product."""
    body = graph(
        [
            node("MatMul", ["h", "w"], ["p"], name="step"),
            node("Tanh", ["p"], ["g"], name="squash"),
            node("Identity", ["go"], ["on"], name="continue"),
        ],
        [value("i", (), I64), value("go", (), BOOL), value("h", (2, 8))],
        [value("on", (), BOOL), value("g", (2, 8))],
        name="body",
    )
    nodes = [node("Loop", ["n", "yes", "x"], ["y"], name="repeat", body=body)]
    constants = [stored("n", np.int64(40)), stored("yes", True), stored("w", normal(8, 8))]
    return model(nodes, [value("x", (2, 8))], [value("y", (2, 8))], constants)


def open_sizes() -> onnx.ModelProto:
    nodes = [
        node("MatMul", ["x", "w"], ["p"], name="product"),
        node("Softmax", ["p"], ["y"], name="softmax", axis=-1),
    ]
    inputs = [value("x", ("n", 8), F32)]
    return model(nodes, inputs, [value("y", ("n", 6))], [stored("w", normal(8, 6))])


MODELS: Mapping[str, tuple[Callable[[], onnx.ModelProto], Shapes]] = {
    "CNN": (lambda: sample("digits_cnn"), {}),
    "MLP": (lambda: sample("digits_mlp"), {}),
    "transformer": (lambda: sample("digits_transformer"), {}),
    "convolutions": (convolutions, {}),
    "recurrent": (lambda: layers("GRU", n_layers=2), {}),
    "quantized": (quantized, {}),
    "If": (a_branch, {}),
    "If by the reference": (a_branch_by_the_reference, {}),
    "Loop": (a_loop, {}),
    "open sizes": (open_sizes, {"x": (5, 8)}),
}
"""Builders of the models, each with the shapes of its inputs of open size."""
