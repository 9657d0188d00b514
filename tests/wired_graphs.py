"""Random graphs with many branches and joins, from a seed."""

from __future__ import annotations

import random

import compiler
from compiler.ir.graph import Graph


def wired(n: int, seed: int) -> Graph:
    """Return products that read each other at random, with many branches and joins."""
    chance = random.Random(seed)
    lines = ["v0: f32[24,40] = matmul(x, w)"]
    for i in range(1, n):
        a, b = (chance.randrange(max(0, i - 5), i) for _ in range(2))
        lines.append(f"s{i}: f32[24,40] = add(v{a}, v{b})")
        lines.append(f"v{i}: f32[24,40] = matmul(s{i}, w)")
    body = "\n  ".join(lines)
    last = ", ".join(f"v{i}" for i in range(max(n - 6, 0), n))
    return compiler.parse(
        f"graph g(x: f32[24,40], w: f32[40,40]) {{\n  {body}\n  return {last}\n}}"
    )
