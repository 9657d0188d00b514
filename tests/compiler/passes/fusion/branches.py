"""Random graphs of elementwise nodes with long branches."""

from __future__ import annotations

import random

from compiler.ir.graph import Graph
from tests.compiler.passes.numbers import graph


def random_branches(seed: int, n: int = 40) -> Graph:
    """Return values v1, v2, ... that each read one or two earlier values, near or far."""
    chance = random.Random(seed)
    lines = [f"v{i}: f32[3] = {chance.choice(_calls(chance, i))}" for i in range(1, n)]
    results = sorted({f"v{n - 1}", *(f"v{chance.randrange(1, n)}" for _ in range(seed % 3))})
    body = "\n".join(lines)
    return graph(f"graph g(v0: f32[3]) {{\n{body}\nreturn {', '.join(results)}\n}}")


def _calls(chance: random.Random, i: int) -> list[str]:
    near = [f"v{chance.randrange(max(0, i - 4), i)}" for _ in range(2)]
    far = f"v{chance.randrange(i)}"
    return [f"relu({near[0]})", f"add({near[0]}, {near[1]})", f"mul({near[0]}, {far})"]
