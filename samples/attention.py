"""The layers of a tiny transformer: patches of the image as tokens, attention between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from onnx import NodeProto, helper

from samples.networks import Array, Layer

Nodes = tuple[list[NodeProto], dict[str, Any]]


class Patches:
    """An image [N, 1, 8, 8] as 16 tokens, the squares of two by two pixels: [N, 16, 4]."""

    def forward(self, x: Array, *, training: bool) -> Array:
        return x.reshape(-1, 4, 2, 4, 2).transpose(0, 1, 3, 2, 4).reshape(-1, 16, 4)

    def backward(self, dy: Array) -> Array:
        return dy.reshape(-1, 4, 4, 2, 2).transpose(0, 1, 3, 2, 4).reshape(-1, 1, 8, 8)

    def parameters(self) -> list[tuple[str, Array, Array]]:
        return []

    def nodes(self, name: str, x: str, y: str) -> Nodes:
        split, tokens = f"{name}.split", f"{name}.tokens"
        return [
            helper.make_node("Reshape", [x, split], [f"{name}.rows"], name=f"{name}.cut"),
            helper.make_node(
                "Transpose",
                [f"{name}.rows"],
                [f"{name}.squares"],
                name=f"{name}.gather",
                perm=[0, 1, 3, 2, 4],
            ),
            helper.make_node("Reshape", [f"{name}.squares", tokens], [y], name=f"{name}.flatten"),
        ], {split: np.array([-1, 4, 2, 4, 2]), tokens: np.array([-1, 16, 4])}


class Positions:
    """Add what is learned of each token's place: [n_tokens, width]."""

    def __init__(self, n_tokens: int, width: int, rng: np.random.Generator) -> None:
        self.places = rng.normal(0, 0.1, (n_tokens, width)).astype(np.float32)
        self.d_places = np.zeros_like(self.places)

    def forward(self, x: Array, *, training: bool) -> Array:
        return x + self.places

    def backward(self, dy: Array) -> Array:
        self.d_places[...] = dy.sum(axis=0)
        return dy

    def parameters(self) -> list[tuple[str, Array, Array]]:
        return [("places", self.places, self.d_places)]

    def nodes(self, name: str, x: str, y: str) -> Nodes:
        places = f"{name}.places"
        return [helper.make_node("Add", [x, places], [y], name=name)], {places: self.places}


class LayerNorm:
    """Give every token mean `bias` and deviation `weight`, over its own elements.

    Source: Ba, Kiros and Hinton 2016 (arXiv:1607.06450).
    """

    epsilon = np.float32(1e-5)

    def __init__(self, width: int) -> None:
        self.weight, self.bias = np.ones(width, np.float32), np.zeros(width, np.float32)
        self.d_weight, self.d_bias = np.zeros_like(self.weight), np.zeros_like(self.bias)

    def forward(self, x: Array, *, training: bool) -> Array:
        deviation = np.sqrt(x.var(axis=-1, keepdims=True) + self.epsilon)
        self.per_deviation: Array = np.divide(np.float32(1), deviation, dtype=np.float32)
        self.normal = (x - x.mean(axis=-1, keepdims=True)) * self.per_deviation
        return self.normal * self.weight + self.bias

    def backward(self, dy: Array) -> Array:
        over = tuple(range(dy.ndim - 1))
        self.d_weight[...] = (dy * self.normal).sum(axis=over)
        self.d_bias[...] = dy.sum(axis=over)
        d_normal = dy * self.weight
        along = d_normal.mean(axis=-1, keepdims=True)
        across = (d_normal * self.normal).mean(axis=-1, keepdims=True)
        return (d_normal - along - self.normal * across) * self.per_deviation

    def parameters(self) -> list[tuple[str, Array, Array]]:
        return [("weight", self.weight, self.d_weight), ("bias", self.bias, self.d_bias)]

    def nodes(self, name: str, x: str, y: str) -> Nodes:
        tensors = {f"{name}.weight": self.weight, f"{name}.bias": self.bias}
        node = helper.make_node(
            "LayerNormalization", [x, *tensors], [y], name=name, epsilon=float(self.epsilon)
        )
        return [node], tensors


class Gelu:
    """x times the share of a normal distribution below x, by its usual approximation.

    Source: Hendrycks and Gimpel 2016 (arXiv:1606.08415), section 2.
    """

    attributes: ClassVar[dict[str, Any]] = {"approximate": "tanh"}

    def forward(self, x: Array, *, training: bool) -> Array:
        self.x = x
        inner = np.float32((2 / np.pi) ** 0.5) * (x + np.float32(0.044715) * x**3)
        self.tanh: Array = np.tanh(inner, dtype=np.float32)
        return np.float32(0.5) * x * (1 + self.tanh)

    def backward(self, dy: Array) -> Array:
        inner = np.float32((2 / np.pi) ** 0.5) * (1 + np.float32(3 * 0.044715) * self.x**2)
        slope = (1 + self.tanh) + self.x * (1 - self.tanh**2) * inner
        return (dy * slope / 2).astype(np.float32)

    def parameters(self) -> list[tuple[str, Array, Array]]:
        return []

    def nodes(self, name: str, x: str, y: str) -> Nodes:
        return [helper.make_node("Gelu", [x], [y], name=name, **self.attributes)], {}


class Attention:
    """Every token asks all of them, with several heads: softmax(q k^T / sqrt(size)) v.

    Shapes: tokens [N, n_tokens, width]; `into` [width, 3 width] makes queries, keys and values,
    `join` [width, width] joins the heads. Source: Vaswani et al. 2017 (arXiv:1706.03762).
    """

    def __init__(self, n_tokens: int, width: int, n_heads: int, rng: np.random.Generator) -> None:
        self.n_tokens, self.width, self.n_heads = n_tokens, width, n_heads
        self.size = width // n_heads
        self.scale = np.float32(self.size**-0.5)
        self.into = rng.normal(0, width**-0.5, (width, 3 * width)).astype(np.float32)
        self.into_bias = np.zeros(3 * width, np.float32)
        self.join = rng.normal(0, width**-0.5, (width, width)).astype(np.float32)
        self.join_bias = np.zeros(width, np.float32)
        self.gradients = [np.zeros_like(p) for p in self._values().values()]

    def _values(self) -> dict[str, Array]:
        return {
            "into": self.into,
            "into_bias": self.into_bias,
            "join": self.join,
            "join_bias": self.join_bias,
        }

    def forward(self, x: Array, *, training: bool) -> Array:
        self.x = x
        made = (x @ self.into + self.into_bias).reshape(-1, *self._heads()[1:])
        self.q, self.k, self.v = made.transpose(2, 0, 3, 1, 4)
        scores = self.q @ self.k.swapaxes(-1, -2) * self.scale
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        self.weights = weights / weights.sum(axis=-1, keepdims=True)
        self.mixed = (self.weights @ self.v).transpose(0, 2, 1, 3).reshape(x.shape)
        return self.mixed @ self.join + self.join_bias

    def backward(self, dy: Array) -> Array:
        d_into, d_into_bias, d_join, d_join_bias = self.gradients
        flat = dy.reshape(-1, self.width)
        d_join[...] = self.mixed.reshape(-1, self.width).T @ flat
        d_join_bias[...] = flat.sum(axis=0)
        shape = (-1, self.n_tokens, self.n_heads, self.size)
        d_mixed = (dy @ self.join.T).reshape(shape).transpose(0, 2, 1, 3)
        d_weights = d_mixed @ self.v.swapaxes(-1, -2)
        inside = (d_weights * self.weights).sum(axis=-1, keepdims=True)
        d_scores = self.weights * (d_weights - inside) * self.scale
        d_qkv = np.stack(
            [
                d_scores @ self.k,
                d_scores.swapaxes(-1, -2) @ self.q,
                self.weights.swapaxes(-1, -2) @ d_mixed,
            ]
        )
        d_made = d_qkv.transpose(1, 3, 0, 2, 4).reshape(-1, 3 * self.width)
        d_into[...] = self.x.reshape(-1, self.width).T @ d_made
        d_into_bias[...] = d_made.sum(axis=0)
        return (d_made @ self.into.T).reshape(self.x.shape)

    def parameters(self) -> list[tuple[str, Array, Array]]:
        values = self._values().items()
        return [(n, v, d) for (n, v), d in zip(values, self.gradients, strict=True)]

    def _heads(self) -> tuple[int, ...]:
        return (-1, self.n_tokens, 3, self.n_heads, self.size)

    def nodes(self, name: str, x: str, y: str) -> Nodes:
        def v(part: str) -> str:
            return f"{name}.{part}"

        tensors: dict[str, Any] = {v(k): p for k, p in self._values().items()}
        tensors |= {
            v("heads"): np.array(self._heads()),
            v("joined"): np.array([-1, self.n_tokens, self.width]),
            v("first"): np.array([0]),
            v("scale"): self.scale,
        }
        steps: list[tuple[str, list[str], list[str], dict[str, Any]]] = [
            ("MatMul", [x, v("into")], [v("product")], {}),
            ("Add", [v("product"), v("into_bias")], [v("qkv")], {}),
            ("Reshape", [v("qkv"), v("heads")], [v("by_head")], {}),
            ("Transpose", [v("by_head")], [v("stacked")], {"perm": [2, 0, 3, 1, 4]}),
            ("Split", [v("stacked")], [v("q1"), v("k1"), v("v1")], {"axis": 0, "num_outputs": 3}),
            *(("Squeeze", [v(f"{p}1"), v("first")], [v(p)], {}) for p in "qkv"),
            ("Transpose", [v("k")], [v("k_turned")], {"perm": [0, 1, 3, 2]}),
            ("MatMul", [v("q"), v("k_turned")], [v("likeness")], {}),
            ("Mul", [v("likeness"), v("scale")], [v("scores")], {}),
            ("Softmax", [v("scores")], [v("weights")], {"axis": -1}),
            ("MatMul", [v("weights"), v("v")], [v("mixed")], {}),
            ("Transpose", [v("mixed")], [v("tokens_first")], {"perm": [0, 2, 1, 3]}),
            ("Reshape", [v("tokens_first"), v("joined")], [v("heads_joined")], {}),
            ("MatMul", [v("heads_joined"), v("join")], [v("made")], {}),
            ("Add", [v("made"), v("join_bias")], [y], {}),
        ]
        made = [
            helper.make_node(op, reads, writes, name=f"{writes[0]}.{op.lower()}", **attributes)
            for op, reads, writes, attributes in steps
        ]
        return made, tensors


class Residual:
    """What comes in, and added to it what some layers make of it."""

    def __init__(self, layers: Sequence[tuple[str, Layer]]) -> None:
        self.layers = list(layers)

    def forward(self, x: Array, *, training: bool) -> Array:
        y = x
        for _, layer in self.layers:
            y = layer.forward(y, training=training)
        return x + y

    def backward(self, dy: Array) -> Array:
        dx = dy
        for _, layer in reversed(self.layers):
            dx = layer.backward(dx)
        return dy + dx

    def parameters(self) -> list[tuple[str, Array, Array]]:
        return [
            (f"{name}.{part}", value, gradient)
            for name, layer in self.layers
            for part, value, gradient in layer.parameters()
        ]

    def nodes(self, name: str, x: str, y: str) -> Nodes:
        nodes: list[NodeProto] = []
        tensors: dict[str, Any] = {}
        value = x
        for part, layer in self.layers:
            made, read = layer.nodes(f"{name}.{part}", value, f"{name}.{part}.out")
            nodes += made
            tensors |= read
            value = f"{name}.{part}.out"
        return [*nodes, helper.make_node("Add", [x, value], [y], name=f"{name}.add")], tensors
