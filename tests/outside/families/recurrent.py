"""LSTM, GRU and RNN: all directions, with and without lengths and initial states."""

from __future__ import annotations

import numpy as np

from tests.outside.draft import Draft
from tests.outside.family import family

N_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
ACTIVATIONS = {
    "RNN": (["Tanh"], ["Relu"], ["Sigmoid"]),
    "GRU": (["Sigmoid", "Tanh"], ["Sigmoid", "Relu"]),
    "LSTM": (["Sigmoid", "Tanh", "Tanh"], ["Sigmoid", "Relu", "Tanh"]),
}


@family("LSTM", "GRU", "RNN", weight=0.8)
def _(d: Draft, op: str) -> None:
    x = d.tensor(("f32",), (3, 3), lambda v: v.size > 0 and v.shape[0] < 20)
    steps, batch, n = d.shape(x)
    hidden, way = (
        d.chance.choice((1, 2, 5, 8)),
        d.chance.choice(("forward", "reverse", "bidirectional")),
    )
    k = 2 if way == "bidirectional" else 1
    gates = N_GATES[op] * hidden
    operands = [x, d.like("f32", (k, gates, n)), d.like("f32", (k, gates, hidden))]
    operands.append(d.like("f32", (k, 2 * gates)) if d.maybe() else "")
    lengths = np.asarray([d.chance.randint(1, steps) for _ in range(batch)], np.int32)
    operands.append(d.given(lengths) if d.maybe(0.3) else "")
    operands.append(d.like("f32", (k, batch, hidden)) if d.maybe(0.4) else "")
    if op == "LSTM":
        operands.append(d.like("f32", (k, batch, hidden)) if d.maybe(0.4) else "")
        operands.append(d.like("f32", (k, 3 * hidden)) if d.maybe(0.2) else "")
    while not operands[-1]:
        operands.pop()
    n_outputs = 3 if op == "LSTM" else 2
    wanted = [d.maybe(0.7) for _ in range(n_outputs)]
    if not any(wanted):
        wanted[0] = True
    functions = d.chance.choice(ACTIVATIONS[op]) * k if d.maybe(0.3) else None
    d.node(
        op,
        operands,
        wanted,
        hidden_size=hidden,
        direction=way if way != "forward" or d.maybe() else None,
        activations=functions,
        clip=3.0 if d.maybe(0.1) else None,
        linear_before_reset=d.chance.choice((None, 0, 1)) if op == "GRU" else None,
        input_forget=1 if op == "LSTM" and d.maybe(0.1) else None,
    )
