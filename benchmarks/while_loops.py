"""Recurrent models as exported from TensorFlow's while loops: Loops with explicit counters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
ENDLESS = (1 << 63) - 1


@dataclass(frozen=True)
class Layer:
    """A recurrent layer of Keras: its size, and whether masked steps preserve the state."""

    units: int
    is_masked: bool = False
    is_backward: bool = False


class WhileModel:
    """A model builder that adds layers; each layer is a Loop whose body tests explicit counters."""

    def __init__(self, seed: int = 1) -> None:
        self.chance = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self._n = 0

    def add(self, op: str, *inputs: str, **attributes: Any) -> str:
        """Add a node; return the name of its result."""
        return self._add(self.nodes, op, inputs, attributes)

    def _add(
        self,
        nodes: list[onnx.NodeProto],
        op: str,
        inputs: Sequence[str],
        attributes: dict[str, Any],
        n_outputs: int = 1,
    ) -> str:
        self._n += 1
        name = f"{op}_{self._n}"
        outputs = [name, *(f"{name}_{i}" for i in range(1, n_outputs))]
        nodes.append(helper.make_node(op, list(inputs), outputs, name=name, **attributes))
        return name

    def constant(self, values: object) -> str:
        """Add a constant with the given elements; return its name."""
        name = f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def weight(self, *shape: int) -> str:
        """Add a weight of normal numbers, scaled to preserve the variance of activations."""
        scale = 1 / math.sqrt(shape[0])
        return self.constant((self.chance.standard_normal(shape) * scale).astype(np.float32))

    def ints(self, *values: int) -> str:
        """Add a constant list of sizes or axes; return its name."""
        return self.constant(np.array(values, np.int64))

    def lstm(self, x: str, width: int, layer: Layer, mask: str = "") -> str:
        """Add tf2onnx's LSTM over `x` [batch, steps, width]; return [batch, steps, units]."""
        order = self.add("Transpose", x, perm=[1, 0, 2])
        seen = self.add("Transpose", mask, perm=[1, 0]) if layer.is_masked else ""
        if layer.is_backward:
            order = self._reversed(order)
            seen = self._reversed(seen) if seen else ""
        sizes = self.add("Shape", order)
        steps = self.add("Slice", sizes, self.ints(0), self.ints(1))
        steps = self.add("Cast", self.add("Squeeze", steps), to=TensorProto.INT32)
        batch = self.add("Slice", sizes, self.ints(1), self.ints(2))
        state = self.add("Concat", batch, self.ints(layer.units), axis=0)
        zeros = self.add("Expand", self.constant(np.float32(0)), state)
        zero = self.constant(np.int32(0))
        start = self.add("And", self.add("Less", zero, steps), self.add("Less", zero, steps))
        body = self._body(order, seen, steps, width, layer)
        given = [self.constant(np.int64(ENDLESS)), start, zero, zero, zeros, zeros, zeros]
        self._n += 1
        outputs = [f"Loop_{self._n}_{i}" for i in range(6)]
        self.nodes.append(helper.make_node("Loop", given, outputs, body=body))
        made = outputs[5]
        if layer.is_backward:
            made = self._reversed(made)
        return self.add("Transpose", made, perm=[1, 0, 2])

    def _reversed(self, x: str) -> str:
        """Add TensorFlow's ReverseV2 along the steps."""
        sizes = self.add("Shape", x)
        steps = self.add("Slice", sizes, self.ints(0), self.ints(1))
        batch = self.add("Slice", sizes, self.ints(1), self.ints(2))
        lengths = self.add("Expand", steps, batch)
        return self.add("ReverseSequence", x, lengths, batch_axis=1, time_axis=0)

    def _body(self, order: str, seen: str, steps: str, width: int, layer: Layer) -> onnx.GraphProto:
        nodes: list[onnx.NodeProto] = []
        own = f"b{self._n}_"
        names = [own + n for n in ("n", "going", "counter", "time", "shown", "h", "c")]
        _, _, counter, time, shown, h, c = names

        def add(op: str, *inputs: str, n_outputs: int = 1, **attributes: Any) -> str:
            return self._add(nodes, op, inputs, attributes, n_outputs)

        units, one = layer.units, self.constant(np.int32(1))
        x = add("Gather", order, time, axis=0)
        z = add("MatMul", x, self.weight(width, 4 * units))
        z = add("Add", z, add("MatMul", h, self.weight(units, 4 * units)))
        z = add("Add", z, self.weight(4 * units))
        i = add("Split", z, n_outputs=4, axis=1)
        f, g, o = (f"{i}_{k}" for k in (1, 2, 3))
        i, f, o, g = add("Sigmoid", i), add("Sigmoid", f), add("Sigmoid", o), add("Tanh", g)
        cell = add("Add", add("Mul", f, c), add("Mul", i, g))
        new = add("Mul", o, add("Tanh", cell))
        out = new
        if seen:
            now = add("Unsqueeze", add("Gather", seen, time, axis=0), self.ints(1))
            out = add("Where", now, new, shown)
            new, cell = add("Where", now, new, h), add("Where", now, cell, c)
        counted, timed = add("Add", counter, one), add("Add", time, one)
        going = add("And", add("Less", counted, steps), add("Less", timed, steps))
        results = [going, counted, timed, add("Identity", out), new, cell, add("Identity", out)]
        value, f32 = helper.make_tensor_value_info, TensorProto.FLOAT
        kinds = [TensorProto.INT64, TensorProto.BOOL, TensorProto.INT32, TensorProto.INT32]
        inputs = [value(n, k, ()) for n, k in zip(names, kinds, strict=False)]
        inputs += [value(n, f32, (None, units)) for n in names[4:]]
        kinds = [TensorProto.BOOL, TensorProto.INT32, TensorProto.INT32]
        outputs = [value(n, k, ()) for n, k in zip(results, kinds, strict=False)]
        outputs += [value(n, f32, (None, units)) for n in results[3:]]
        return helper.make_graph(nodes, f"while_{self._n}", inputs, outputs)

    def model(self, inputs: Sequence[onnx.ValueInfoProto], results: Sequence[str]) -> bytes:
        """Return the bytes of the ONNX file; results are f32 with open shapes."""
        outputs = [helper.make_tensor_value_info(r, TensorProto.FLOAT, None) for r in results]
        g = helper.make_graph(self.nodes, "while", list(inputs), outputs, self.weights)
        opsets = [helper.make_opsetid("", OPSET)]
        return helper.make_model(g, opset_imports=opsets, ir_version=9).SerializeToString()


def diacritizer(
    units: int = 400,
    width: int = 400,
    n_letters: int = 43,
    shape: tuple[int | str, int | str] = (1, 90),
    is_masked: bool = True,
) -> bytes:
    """Return a model from letters to diacritics: embedding, two bidirectional LSTMs, three heads.

    Sizes are those of Nakdimon (Gershuni and Pinter 2021, arXiv:2105.05209), in which masked
    letters preserve the state. Input `x`: letters as i32 [batch, steps]; 0 is masked.
    """
    m = WhileModel()
    letters = helper.make_tensor_value_info("x", TensorProto.INT32, shape)
    mask = ""
    if is_masked:
        mask = m.add("Not", m.add("Equal", "x", m.constant(np.int32(0))))
    x = m.add("Gather", m.weight(n_letters, width), "x", axis=0)
    for _ in range(2):
        ways = [m.lstm(x, width, Layer(units, is_masked, back), mask) for back in (False, True)]
        x, width = m.add("Add", *ways), units
    heads = [m.add("Add", m.add("MatMul", x, m.weight(units, n)), m.weight(n)) for n in (16, 4, 3)]
    return m.model([letters], [m.add("Softmax", h, axis=-1) for h in heads])
