"""In which order the search tries blocks that could lie equally low: many different ones.

No order is good for all problems: one finds a packing in a thousand steps where another finds none
in a billion. So several are given turns (turns.py). An order is a row of measures, the largest
first, the next one deciding ties. `total` is the load of the fullest section that a block lives in,
by what is not placed yet: it is measured anew whenever the problem falls apart.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from compiler.memory.buffer import Block
from compiler.memory.planners.exact.sections import Sections

TOTAL = "total"

Measures = tuple[str, ...]

PREORDERS: Sequence[Measures] = (
    (TOTAL, "width", "area"),
    (TOTAL, "area", "width"),
    ("width", "area", TOTAL),
    ("sections", TOTAL, "area"),
    (TOTAL, "size", "width"),
)
"""The first three are those of MiniMalloc; the others find what these do not."""

NOISE = 0.15
"""Spread of the factors, as powers of e, by which measures of a random order are off."""


class Preorder(NamedTuple):
    """Ranks of blocks, the least first: `before` counts more than the total, `behind` less."""

    before: Any
    behind: Any


def measure(blocks: Sequence[Block], sections: Sections) -> dict[str, Any]:
    """What blocks are ordered by, but the total. Units: steps, bytes, byte-steps, sections."""
    width = np.array([float(b.end - b.start) for b in blocks])
    size = np.array([float(b.size) for b in blocks])
    return {
        "width": width,
        "size": size,
        "area": width * size,
        "sections": (sections.end - sections.first).astype(float),
    }


def preorder(by: Measures, measured: dict[str, Any]) -> Preorder:
    """The order by a row of measures."""
    turn = by.index(TOTAL)
    n = len(measured["size"])
    return Preorder(_ranks(by[:turn], measured, n), _ranks(by[turn + 1 :], measured, n))


def random_preorder(measured: dict[str, Any], chance: random.Random) -> Preorder:
    """One of the orders, its measures blurred."""
    n = len(measured["size"])
    blurred = {
        name: values * np.exp([chance.gauss(0, NOISE) for _ in range(n)])
        for name, values in measured.items()
    }
    return preorder(chance.choice(PREORDERS), blurred)


def _ranks(by: Measures, measured: dict[str, Any], n: int) -> Any:
    """Equal numbers for what is equal in all measures."""
    if not by:
        return np.zeros(n, np.int64)
    rows = np.stack([-measured[name] for name in by], axis=1)
    return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
