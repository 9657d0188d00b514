"""Tests that the time of every fusion policy grows nearly linearly, for any graph shape."""

from __future__ import annotations

from collections.abc import Callable
from cProfile import Profile
from pstats import Stats

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
    """Return a graph in which all branches read one value."""
    pairs = range(n // 2)
    lines = "\n".join(f"y{i}: f32[3,40] = relu(x)\nz{i}: f32[3,40] = exp(y{i})" for i in pairs)
    return graph(
        f"graph g(x: f32[3,40]) {{\n{lines}\nreturn {', '.join(f'z{i}' for i in pairs)}\n}}"
    )


def ladder(n: int) -> Graph:
    """Return sums and products, each read by the next node and by one a few steps later."""
    lines = "\n".join(
        f"y{i}: f32[3,40] = matmul(y{i - 1}, w)"
        if i % 5 == 0
        else f"y{i}: f32[3,40] = add(y{i - 1}, y{max(i - 7, 0)})"
        for i in range(1, n + 1)
    )
    return graph(f"graph g(y0: f32[3,40], w: f32[40,40]) {{\n{lines}\nreturn y{n}\n}}")


def n_calls(g: Graph, policy: str) -> int:
    """Return the number of function calls, which unlike seconds is machine-independent."""
    profile = Profile()
    profile.runcall(PASSES["fuse"].run, g, Log(), policy=policy)
    return int(Stats(profile).total_calls)  # type: ignore[attr-defined]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("make", [chain, fan, ladder])
def test_eight_times_the_nodes_take_about_eight_times_the_calls(
    make: Callable[[int], Graph], policy: str
) -> None:
    small, large = make(100), make(800)
    assert n_calls(large, policy) < 10 * n_calls(small, policy)
