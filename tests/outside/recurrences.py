"""LSTM, GRU and RNN by the equations of the standard, in the type of the inputs.

onnx.reference ignores activations, lengths and clip, so it cannot evaluate most layers. These
functions compute in f64; ONNX Runtime computes in f32 with approximate activations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun

from tests.outside.values import Array

Activation = Callable[[Array], Array]

ACTIVATIONS: dict[str, Activation] = {
    "Sigmoid": lambda v: 1 / (1 + np.exp(-v)),
    "Tanh": np.tanh,
    "Relu": lambda v: np.maximum(v, 0),
}

DEFAULTS = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}


@dataclass(frozen=True)
class Direction:
    """The parameters of one direction of a layer; `wb` and `rb` are the biases of `w` and `r`."""

    w: Array
    r: Array
    wb: Array
    rb: Array
    peepholes: Array
    activations: Sequence[Activation]
    limit: float | None
    linear_before_reset: bool
    input_forget: bool

    def clip(self, v: Array) -> Array:
        """Clip the input of an activation to the limit, if the layer has one."""
        return np.clip(v, -self.limit, self.limit) if self.limit else v


Step = Callable[..., tuple[Array, ...]]
"""A function from a slice of x, the parameters of a direction and the states to the new states."""


def _rnn(x: Array, p: Direction, h: Array) -> tuple[Array, ...]:
    (f,) = p.activations
    return (f(p.clip(x @ p.w.T + h @ p.r.T + p.wb + p.rb)),)


def _gru(x: Array, p: Direction, h: Array) -> tuple[Array, ...]:
    f, g = p.activations
    (wz, wr, wh), (rz, rr, rh) = np.split(p.w, 3), np.split(p.r, 3)
    (wbz, wbr, wbh), (rbz, rbr, rbh) = np.split(p.wb, 3), np.split(p.rb, 3)
    z = f(p.clip(x @ wz.T + h @ rz.T + wbz + rbz))
    r = f(p.clip(x @ wr.T + h @ rr.T + wbr + rbr))
    hidden = r * (h @ rh.T + rbh) if p.linear_before_reset else (r * h) @ rh.T + rbh
    new = g(p.clip(x @ wh.T + hidden + wbh))
    return ((1 - z) * new + z * h,)


def _lstm(x: Array, p: Direction, h: Array, c: Array) -> tuple[Array, ...]:
    f, g, k = p.activations
    pi, po, pf = np.split(p.peepholes, 3)
    i, o, forget, new = np.split(x @ p.w.T + h @ p.r.T + p.wb + p.rb, 4, axis=-1)
    i = f(p.clip(i + pi * c))
    forget = 1 - i if p.input_forget else f(p.clip(forget + pf * c))
    cell = forget * c + i * g(p.clip(new))
    o = f(p.clip(o + po * cell))
    return o * k(cell), cell


STEPS: dict[str, Step] = {"RNN": _rnn, "GRU": _gru, "LSTM": _lstm}


def _direction(
    step: Step, x: Array, lengths: Array, states: list[Array], p: Direction, is_reverse: bool
) -> tuple[Array, list[Array]]:
    """Return one direction: all hidden states, and the final states of each sequence."""
    made = np.zeros((x.shape[0], *states[0].shape), x.dtype)
    last = [s.copy() for s in states]
    for b, n in enumerate(lengths):
        now = [s[b] for s in states]
        for t in reversed(range(n)) if is_reverse else range(n):
            now = list(step(x[t, b], p, *now))
            made[t, b] = now[0]
        for s, value in zip(last, now, strict=True):
            s[b] = value
    return made, last


def layer(op: str, operands: Sequence[Any], attributes: dict[str, Any]) -> tuple[Array, ...]:
    """Return a complete layer: Y, then the final states."""
    x, w, r, b, lengths, *rest = [*operands, *[None] * (8 - len(operands))]
    k, hidden = w.shape[0], r.shape[-1]
    n_states = 2 if op == "LSTM" else 1
    zeros = np.zeros((k, x.shape[1], hidden), x.dtype)
    states = [zeros if s is None else s for s in rest[:n_states]]
    peepholes = rest[2] if op == "LSTM" and rest[2] is not None else np.zeros((k, 3 * hidden))
    if b is None:
        b = np.zeros((k, 2 * w.shape[1]), x.dtype)
    if lengths is None:
        lengths = np.full(x.shape[1], x.shape[0])
    names = attributes.get("activations") or DEFAULTS[op] * k
    made: list[tuple[Array, list[Array]]] = []
    for d in range(k):
        wb, rb = np.split(b[d], 2)
        own = names[d * len(DEFAULTS[op]) : (d + 1) * len(DEFAULTS[op])]
        p = Direction(
            w=w[d],
            r=r[d],
            wb=wb,
            rb=rb,
            peepholes=peepholes[d].astype(x.dtype),
            activations=[ACTIVATIONS[n] for n in own],
            limit=attributes.get("clip"),
            linear_before_reset=bool(attributes.get("linear_before_reset")),
            input_forget=bool(attributes.get("input_forget")),
        )
        is_reverse = d == 1 or attributes.get("direction") == "reverse"
        made.append(_direction(STEPS[op], x, lengths, [s[d] for s in states], p, is_reverse))
    last = (np.stack([m[1][s] for m in made]) for s in range(n_states))
    return np.stack([m[0] for m in made], axis=1), *last


class _Layer(OpRun):
    """An operator for onnx.reference that computes a complete layer."""

    def _run(self, *operands: Any, **attributes: Any) -> tuple[Array, ...]:
        made = layer(type(self).__name__, operands, attributes)
        return tuple(v.astype(operands[0].dtype) for v in made)


class RNN(_Layer):
    op_domain = ""


class GRU(_Layer):
    op_domain = ""


class LSTM(_Layer):
    op_domain = ""


LAYERS = (RNN, GRU, LSTM)
