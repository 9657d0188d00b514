"""Arena sizes of programs relative to their live bytes, which are a lower bound of all plans.

    python -m benchmarks.bounds [--only NAME ...] [FOLDER ...]

The light models with random weights, the PP-OCR models, generated models, the graphs with wide
branching, and every model in the folders are compiled with default options. This benchmark computes
live bytes step by step from the buffers of the program, with exact sizes and with sizes rounded up
to the plan's alignment. It also checks all pairs of buffers for overlaps. The exit code is 1 if two
buffers overlap, or if an arena exceeds the rounded live bytes by more than 1 %.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import compiler
from benchmarks.subjects import catalogue
from benchmarks.wide_graphs import WIDE
from compiler.memory.buffer import Buffer, Plan

AT_MOST = 1.01
"""Largest permitted ratio of an arena to the rounded live bytes."""


@dataclass(frozen=True, slots=True)
class Row:
    """The arena of one model, in bytes; `n_overlaps` counts overlapping pairs of live buffers."""

    model: str
    n_buffers: int
    arena_bytes: int
    alive_bytes: int
    aligned_bytes: int
    n_overlaps: int

    @property
    def is_good(self) -> bool:
        """Return whether the plan is valid and close to the lower bound."""
        return not self.n_overlaps and self.arena_bytes <= AT_MOST * self.aligned_bytes


def measure(model: str, data: bytes) -> Row:
    """Compile one model, and compare its arena with the live bytes."""
    plan: Plan = compiler.compile(data, trace=False).memory
    lying = [b for b in plan.buffers if b.size]
    return Row(
        model,
        len(lying),
        plan.peak_bytes,
        _most_alive(lying, 1),
        _most_alive(lying, plan.alignment_bytes),
        sum(_overlap(a, b) for a, b in combinations(lying, 2)),
    )


def _most_alive(buffers: Sequence[Buffer], unit_bytes: int) -> int:
    steps = range(max((b.end for b in buffers), default=0))
    return max(
        (
            sum(-(-b.size // unit_bytes) * unit_bytes for b in buffers if b.start <= n < b.end)
            for n in steps
        ),
        default=0,
    )


def _overlap(a: Buffer, b: Buffer) -> bool:
    in_time = a.start < b.end and b.start < a.end
    return in_time and a.offset < b.offset + b.size and b.offset < a.offset + a.size


def makers(folders: Sequence[Path]) -> Mapping[str, Callable[[], bytes]]:
    """Return, by name, functions that return the bytes of each model."""
    models = {
        name: lambda read=read: read().model.SerializeToString()
        for name, read in catalogue(folders).items()
    }
    return {**models, **WIDE}


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of the table. Units: bytes."""
    yield "| model | buffers | arena | most alive | ratio | most alive, rounded | ratio |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for r in rows:
        ratios = [r.arena_bytes / max(n, 1) for n in (r.alive_bytes, r.aligned_bytes)]
        yield (
            f"| {r.model} | {r.n_buffers} | {r.arena_bytes} | {r.alive_bytes} | {ratios[0]:.4f} "
            f"| {r.aligned_bytes} | {ratios[1]:.4f} |"
        )
    least = sum(r.arena_bytes == r.aligned_bytes for r in rows)
    above = [r.model for r in rows if not r.is_good]
    yield f"\n{len(rows)} programs, {least} at the rounded bound; not good: {above or 'none'}"


def main() -> int:
    """Compile all models, print the table, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", default=None)
    parser.add_argument("folders", nargs="*", type=Path)
    given = parser.parse_args()
    rows = [
        measure(name, make())
        for name, make in makers(given.folders).items()
        if given.only is None or name in given.only
    ]
    print("\n".join(lines(rows)))
    return 0 if all(r.is_good for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
