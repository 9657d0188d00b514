"""Fusion takes time in proportion to the nodes, whatever the policy and the shape of the graph."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

import pytest

from compiler.ir.graph import Graph
from compiler.passes import PASSES
from compiler.passes.fusion.policies import POLICIES
from compiler.trace import Log
from tests.compiler.passes.numbers import graph


def chain(n: int) -> Graph:
    lines = "\n".join(f"y{i}: f32[3,40] = relu(y{i - 1})" for i in range(1, n + 1))
    return graph(f"graph g(y0: f32[3,40]) {{\n{lines}\nreturn y{n}\n}}")


def fan(n: int) -> Graph:
    """One value that all branches read."""
    pairs = range(n // 2)
    lines = "\n".join(f"y{i}: f32[3,40] = relu(x)\nz{i}: f32[3,40] = exp(y{i})" for i in pairs)
    return graph(
        f"graph g(x: f32[3,40]) {{\n{lines}\nreturn {', '.join(f'z{i}' for i in pairs)}\n}}"
    )


def ladder(n: int) -> Graph:
    """Sums and products that are read next to them and a few steps further."""
    lines = "\n".join(
        f"y{i}: f32[3,40] = matmul(y{i - 1}, w)"
        if i % 5 == 0
        else f"y{i}: f32[3,40] = add(y{i - 1}, y{max(i - 7, 0)})"
        for i in range(1, n + 1)
    )
    return graph(f"graph g(y0: f32[3,40], w: f32[40,40]) {{\n{lines}\nreturn y{n}\n}}")


def seconds(g: Graph, policy: str) -> float:
    start = process_time()
    PASSES["fuse"].run(g, Log(), policy=policy)
    return process_time() - start


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("make", [chain, fan, ladder])
def test_eight_times_the_nodes_take_about_eight_times_as_long(
    make: Callable[[int], Graph], policy: str
) -> None:
    small, large = make(250), make(2000)
    once = min(seconds(small, policy) for _ in range(3))
    assert seconds(large, policy) < 25 * max(once, 0.002)
