"""The layers of a network that reads an image row by row: rows as steps, and an LSTM over them."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import NodeProto, helper

from samples.networks import Array


class Rows:
    """An image [N, 1, h, w] as h steps of w pixels each: [h, N, w], as ONNX wants sequences."""

    def __init__(self, height: int, width: int) -> None:
        self.height, self.width = height, width

    def forward(self, x: Array, *, training: bool) -> Array:
        return x.reshape(-1, self.height, self.width).transpose(1, 0, 2)

    def backward(self, dy: Array) -> Array:
        return dy.transpose(1, 0, 2)[:, None]

    def parameters(self) -> list[tuple[str, Array, Array]]:
        return []

    def nodes(self, name: str, x: str, y: str) -> tuple[list[NodeProto], dict[str, Any]]:
        shape, rows = f"{name}.shape", f"{name}.rows"
        return [
            helper.make_node("Reshape", [x, shape], [rows], name=f"{name}.reshape"),
            helper.make_node("Transpose", [rows], [y], name=f"{name}.steps_first", perm=[1, 0, 2]),
        ], {shape: np.array([-1, self.height, self.width])}


class Lstm:
    """Steps [T, N, n_in] to the state after the last one [N, n_out].

    The weights' rows are those of the input, output, forget and cell gates, in ONNX's order.
    Source: Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000, whose bias
    begins at 1.
    """

    def __init__(self, n_in: int, n_out: int, rng: np.random.Generator) -> None:
        self.n_out = n_out
        spread = n_out**-0.5
        self.weight = rng.uniform(-spread, spread, (4 * n_out, n_in)).astype(np.float32)
        self.again = rng.uniform(-spread, spread, (4 * n_out, n_out)).astype(np.float32)
        self.bias = np.zeros(4 * n_out, np.float32)
        self.bias[2 * n_out : 3 * n_out] = 1
        self.gradients = [np.zeros_like(p) for p in (self.weight, self.again, self.bias)]

    def forward(self, x: Array, *, training: bool) -> Array:
        h = c = np.zeros((x.shape[1], self.n_out), np.float32)
        self.x = x
        self.steps: list[tuple[Array, ...]] = []
        for row in x:
            i, o, f, g = np.split(row @ self.weight.T + h @ self.again.T + self.bias, 4, axis=1)
            i, o, f, g = _sigmoid(i), _sigmoid(o), _sigmoid(f), np.tanh(g)
            before = h, c
            c = f * c + i * g
            h = o * np.tanh(c)
            self.steps.append((*before, c, i, o, f, g))
        return h

    def backward(self, dy: Array) -> Array:
        for gradient in self.gradients:
            gradient[...] = 0
        d_weight, d_again, d_bias = self.gradients
        dx = np.zeros_like(self.x)
        dh, dc = dy, np.zeros_like(dy)
        for t in reversed(range(len(self.x))):
            h, c, c_after, i, o, f, g = self.steps[t]
            squashed = np.tanh(c_after)
            dc = dc + dh * o * (1 - squashed**2)
            gates = (
                dc * g * i * (1 - i),
                dh * squashed * o * (1 - o),
                dc * c * f * (1 - f),
                dc * i * (1 - g**2),
            )
            d_gates = np.concatenate(gates, axis=1)
            d_weight += d_gates.T @ self.x[t]
            d_again += d_gates.T @ h
            d_bias += d_gates.sum(axis=0)
            dx[t] = d_gates @ self.weight
            dh, dc = d_gates @ self.again, dc * f
        return dx

    def parameters(self) -> list[tuple[str, Array, Array]]:
        values = {"weight": self.weight, "again": self.again, "bias": self.bias}
        return [(n, v, d) for (n, v), d in zip(values.items(), self.gradients, strict=True)]

    def nodes(self, name: str, x: str, y: str) -> tuple[list[NodeProto], dict[str, Any]]:
        last, axis = f"{name}.last", f"{name}.direction"
        tensors = {
            f"{name}.weight": self.weight[None],
            f"{name}.again": self.again[None],
            # ONNX has a bias for either product.
            f"{name}.bias": np.concatenate([self.bias, np.zeros_like(self.bias)])[None],
        }
        lstm = helper.make_node(
            "LSTM", [x, *tensors], ["", last], name=name, hidden_size=self.n_out
        )
        squeeze = helper.make_node("Squeeze", [last, axis], [y], name=f"{name}.squeeze")
        return [lstm, squeeze], {**tensors, axis: np.array([0])}


def _sigmoid(x: Array) -> Array:
    return (1 / (1 + np.exp(-x))).astype(np.float32)
