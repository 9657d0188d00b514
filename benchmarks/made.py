"""Generated models in the small operators of an exporter, with seeded random weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Maker:
    """A model builder that adds node after node."""

    def __init__(self, seed: int = 1) -> None:
        self.chance = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def add(self, op: str, *inputs: str, n_outputs: int = 1, **attributes: Any) -> str:
        """Add a node; return the name of its first result."""
        name = f"{op}_{len(self.nodes)}"
        outputs = [name, *(f"{name}_{i}" for i in range(1, n_outputs))]
        self.nodes.append(helper.make_node(op, list(inputs), outputs, name=name, **attributes))
        return name

    def constant(self, values: object) -> str:
        """Add a constant with the given elements; return its name."""
        name = f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def weight(self, *shape: int) -> str:
        """Add a weight of normal numbers, scaled to preserve the variance of activations."""
        scale = 1 / math.sqrt(shape[0] if len(shape) == 2 else math.prod(shape[1:]))
        return self.constant((self.chance.standard_normal(shape) * scale).astype(np.float32))

    def model(self, name: str, given: Sequence[int], gives: Sequence[int], result: str) -> bytes:
        """Return the bytes of the ONNX file, with one input `x` and one result `y`."""
        self.nodes.append(helper.make_node("Identity", [result], ["y"], name="result"))
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            self.nodes,
            name,
            [value("x", TensorProto.FLOAT, given)],
            [value("y", TensorProto.FLOAT, gives)],
            self.weights,
        )
        opsets = [helper.make_opsetid("", 17)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()


def encoder(n_layers: int, length: int = 128, width: int = 768, heads: int = 12) -> bytes:
    """Return a transformer encoder without embedding; default sizes are those of BERT base.

    Source: Devlin et al. 2018 (arXiv:1810.04805).
    """
    m = Maker()
    x = "x"
    for _ in range(n_layers):
        x = _norm(m, m.add("Add", x, _attention(m, x, length, width, heads)), width)
        h = _linear(m, x, width, 4 * width)
        bell = m.add("Erf", m.add("Div", h, m.constant(np.float32(math.sqrt(2)))))
        h = m.add("Mul", h, m.add("Add", bell, m.constant(np.float32(1))))
        h = m.add("Mul", h, m.constant(np.float32(0.5)))
        x = _norm(m, m.add("Add", x, _linear(m, h, 4 * width, width)), width)
    return m.model(f"encoder{n_layers}", (1, length, width), (1, length, width), x)


def _attention(m: Maker, x: str, length: int, width: int, heads: int) -> str:
    size = width // heads
    split = m.constant(np.array([1, length, heads, size]))
    q, k, v = (m.add("Reshape", _linear(m, x, width, width), split) for _ in range(3))
    q, v = (m.add("Transpose", t, perm=[0, 2, 1, 3]) for t in (q, v))
    k = m.add("Transpose", k, perm=[0, 2, 3, 1])
    scores = m.add("Div", m.add("MatMul", q, k), m.constant(np.float32(math.sqrt(size))))
    mixed = m.add("MatMul", m.add("Softmax", scores, axis=-1), v)
    joined = m.add("Transpose", mixed, perm=[0, 2, 1, 3])
    joined = m.add("Reshape", joined, m.constant(np.array([1, length, width])))
    return _linear(m, joined, width, width)


def _linear(m: Maker, x: str, n_in: int, n_out: int) -> str:
    return m.add("Add", m.add("MatMul", x, m.weight(n_in, n_out)), _bias(m, n_out))


def _bias(m: Maker, n: int) -> str:
    return m.constant((m.chance.standard_normal(n) * 0.1).astype(np.float32))


def _norm(m: Maker, x: str, width: int) -> str:
    scale = m.constant(
        np.float32(1) + np.float32(0.1) * m.chance.standard_normal(width, np.float32)
    )
    return m.add("LayerNormalization", x, scale, _bias(m, width), axis=-1, epsilon=1e-5)


def recurrent(n_layers: int = 2, steps: int = 60, width: int = 96, hidden: int = 192) -> bytes:
    """Return layers of bidirectional LSTMs and a classifier per step, as in speech models."""
    m = Maker()
    x, n_in = "x", width
    for _ in range(n_layers):
        weights = (
            m.weight(2, 4 * hidden, n_in),
            m.weight(2, 4 * hidden, hidden),
            m.constant((m.chance.standard_normal((2, 8 * hidden)) * 0.1).astype(np.float32)),
        )
        both = m.add(
            "LSTM", x, *weights, n_outputs=3, hidden_size=hidden, direction="bidirectional"
        )
        moved = m.add("Transpose", both, perm=[0, 2, 1, 3])
        x = m.add("Reshape", moved, m.constant(np.array([steps, 1, 2 * hidden])))
        n_in = 2 * hidden
    y = m.add("Softmax", _linear(m, x, n_in, 40), axis=-1)
    return m.model(f"lstm{n_layers}", (steps, 1, width), (steps, 1, 40), y)


def blocks(n_blocks: int) -> bytes:
    """Return a residual network of small blocks of eight nodes, with pairs of equal blocks."""
    m = Maker()
    x = "x"
    for _ in range(n_blocks):
        h = m.add("Conv", x, m.weight(4, 4, 1, 1))
        h = m.add("Relu", h)
        h = m.add("Mul", h, m.constant(np.float32(1)))
        h = m.add("Conv", h, m.weight(4, 4, 1, 1))
        h = m.add("Identity", h)
        bell = m.add("Sigmoid", h)
        h = m.add("Mul", h, bell)
        x = m.add("Add", x, h)
    return m.model(f"blocks{n_blocks}", (1, 4, 8, 8), (1, 4, 8, 8), x)
