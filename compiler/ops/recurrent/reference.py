"""The numpy references of recurrent layers, step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from compiler.dataclass import dataclass
from compiler.ir.operator import Array
from compiler.ops.quantization.dynamic_quantize import in_bytes
from compiler.ops.recurrent.activations import Activation


@dataclass(frozen=True, slots=True)
class Cells:
    """The common parameters of all directions of a layer, and the activations of each direction."""

    n_gates: int
    functions: Sequence[Sequence[Activation]]
    reverses: Sequence[bool]
    clip: float
    layout: int


@dataclass(frozen=True, slots=True)
class Weights:
    """The parameters of one direction, by gate; input and recurrent biases are separate."""

    w: Sequence[Array]
    r: Sequence[Array]
    wb: Sequence[Array]
    rb: Sequence[Array]
    p: Sequence[Array]
    functions: Sequence[Activation]
    clip: float

    def gate(self, k: int, x: Array, h: Array) -> Array:
        """Compute the sum of both products (input, state) and both biases of one gate."""
        return x @ self.w[k].T + h @ self.r[k].T + self.wb[k] + self.rb[k]

    def activated(self, f: int, x: Array) -> Array:
        """Clip an array, and apply an activation."""
        bounded = np.clip(x, -self.clip, self.clip) if self.clip > 0 else x
        return self.functions[f].numpy(bounded)


Cell = Callable[[Weights, Array, Sequence[Array]], Sequence[Array]]
"""A function that returns the new states, given the parameters, a step's input and the states. The
first new state is the output of the step."""


def run(
    cells: Cells,
    cell: Cell,
    x: Array,
    w: Array,
    r: Array,
    b: Array | None,
    lengths: Array | None,
    starts: Sequence[Array | None],
    p: Array | None,
) -> tuple[Array, ...]:
    """Run all steps of a direction; return the outputs of all steps, then the last states."""
    if cells.layout:
        x = x.swapaxes(0, 1)
    n_steps, batch, _ = x.shape
    n_directions, hidden = len(cells.reverses), r.shape[2]
    every = np.zeros((n_steps, n_directions, batch, hidden), x.dtype)
    last = [np.zeros((n_directions, batch, hidden), x.dtype) for _ in starts]
    for d in range(n_directions):
        weights = _weights(cells, d, w, r, b, p)
        states = [_start(cells, s, d, (batch, hidden), x) for s in starts]
        if lengths is not None:  # empty sequences, as in ONNX Runtime
            states = [np.where(lengths[:, None] > 0, s, 0).astype(s.dtype) for s in states]
        for t in range(n_steps)[:: -1 if cells.reverses[d] else 1]:
            made = [m.astype(x.dtype) for m in cell(weights, x[t], states)]
            running = np.ones(batch, bool) if lengths is None else t < lengths
            states = [np.where(running[:, None], m, s) for m, s in zip(made, states, strict=True)]
            every[t, d] = np.where(running[:, None], made[0], 0)
        for k, s in enumerate(states):
            last[k][d] = s
    if cells.layout:
        return (every.transpose(2, 0, 1, 3), *(s.swapaxes(0, 1) for s in last))
    return (every, *last)


def _start(cells: Cells, given: Array | None, d: int, shape: tuple[int, ...], x: Array) -> Array:
    if given is None:
        return np.zeros(shape, x.dtype)
    return given[:, d] if cells.layout else given[d]


def _weights(cells: Cells, d: int, w: Array, r: Array, b: Array | None, p: Array | None) -> Weights:
    n, hidden = cells.n_gates, r.shape[2]
    biases = np.zeros(2 * n * hidden, w.dtype) if b is None else b[d]
    parts = np.split(biases, 2 * n)
    peepholes = np.zeros(3 * hidden, w.dtype) if p is None else p[d]
    return Weights(
        np.split(w[d], n),
        np.split(r[d], n),
        parts[:n],
        parts[n:],
        np.split(peepholes, 3),
        cells.functions[d],
        cells.clip,
    )


def rnn_cell(s: Weights, x: Array, states: Sequence[Array]) -> list[Array]:
    """Compute one step of an rnn."""
    return [s.activated(0, s.gate(0, x, states[0]))]


def lstm_cell(input_forget: bool, rounded_states: bool) -> Cell:
    """Return the function that computes one step of an lstm."""

    def cell(s: Weights, x: Array, states: Sequence[Array]) -> list[Array]:
        h, c = states
        h = in_bytes(h) if rounded_states else h
        i = s.activated(0, s.gate(0, x, h) + s.p[0] * c)
        f = 1 - i if input_forget else s.activated(0, s.gate(2, x, h) + s.p[2] * c)
        new = f * c + i * s.activated(1, s.gate(3, x, h))
        o = s.activated(0, s.gate(1, x, h) + s.p[1] * new)
        return [o * s.functions[2].numpy(new), new]

    return cell


def gru_cell(linear_before_reset: bool) -> Cell:
    """Return the function that computes one step of a gru."""

    def cell(s: Weights, x: Array, states: Sequence[Array]) -> list[Array]:
        (h,) = states
        z, r = (s.activated(0, s.gate(k, x, h)) for k in (0, 1))
        if linear_before_reset:
            through = r * (h @ s.r[2].T + s.rb[2])
        else:
            through = (r * h) @ s.r[2].T + s.rb[2]
        n = s.activated(1, x @ s.w[2].T + s.wb[2] + through)
        return [(1 - z) * n + z * h]

    return cell
