"""A diverse set of orders in which a search tries blocks with equal lowest offsets.

No order suits all problems: for the same blocks, one order may take a thousand nodes and another a
billion. Therefore turns.py interleaves several searches. An order compares blocks by a sequence of
measures, largest first; later measures break ties. The measure `total` is the number of unplaced
bytes in the block's fullest section. A section is a step with a maximal set of live blocks. When
the search divides a problem into parts, `total` is recomputed.
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
"""The first three orders are those of MiniMalloc; the other orders complement them."""

NOISE = 0.15
"""Standard deviation of the log-normal factors by which a random order multiplies its measures."""


class Preorder(NamedTuple):
    """The ranks of blocks; the lowest rank comes first.

    `before` has the ranks by the measures that precede `total`; `behind` has the ranks by the
    measures that follow `total`.
    """

    before: Any
    behind: Any


def measure(blocks: Sequence[Block], sections: Sections) -> dict[str, Any]:
    """Return the measures of blocks except `total`. Units: steps, bytes, byte-steps, sections."""
    width = np.array([float(b.end - b.start) for b in blocks])
    size = np.array([float(b.size) for b in blocks])
    return {
        "width": width,
        "size": size,
        "area": width * size,
        "sections": (sections.end - sections.first).astype(float),
    }


def preorder(by: Measures, measured: dict[str, Any]) -> Preorder:
    """Return the order that compares blocks by a sequence of measures."""
    turn = by.index(TOTAL)
    n = len(measured["size"])
    return Preorder(_ranks(by[:turn], measured, n), _ranks(by[turn + 1 :], measured, n))


def random_preorder(measured: dict[str, Any], chance: random.Random) -> Preorder:
    """Return a randomly chosen order, with noise on its measures."""
    n = len(measured["size"])
    blurred = {
        name: values * np.exp([chance.gauss(0, NOISE) for _ in range(n)])
        for name, values in measured.items()
    }
    return preorder(chance.choice(PREORDERS), blurred)


def _ranks(by: Measures, measured: dict[str, Any], n: int) -> Any:
    """Return the ranks of n blocks by some measures; blocks equal in all of them share a rank."""
    if not by:
        return np.zeros(n, np.int64)
    rows = np.stack([-measured[name] for name in by], axis=1)
    return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
