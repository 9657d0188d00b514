"""The choice of the next operator."""

from __future__ import annotations

from tests.outside.draft import Draft
from tests.outside.family import DRAWN, Drawn

TRIES = 4
"""Maximum number of attempts for each requested step."""

IN_BODIES = ("RNN", "LSTM", "GRU", "Unique", "NonMaxSuppression", "Optional", "SequenceMap")
"""Operators that are generated in the main graph only, so that bodies stay small."""


def draw_steps(d: Draft, n_steps: int) -> None:
    """Perform this many steps, or fewer if too many are dropped."""
    made = 0
    for _ in range(TRIES * n_steps):
        if made >= n_steps:
            return
        drawn = next_operator(d)
        made += d.attempt(lambda drawn=drawn: drawn.step(d, drawn.op))


def next_operator(d: Draft) -> Drawn:
    """Return an operator by weight; in a third of the cases, all operators are equally likely."""
    names = [n for n in DRAWN if d.outer is None or n not in IN_BODIES]
    if d.chance.random() < 0.35:
        return DRAWN[d.chance.choice(names)]
    return DRAWN[d.chance.choices(names, [DRAWN[n].weight for n in names])[0]]
