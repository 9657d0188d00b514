"""Tests of post-dominators on random graphs, against networkx."""

from __future__ import annotations

import networkx as nx
import pytest

from compiler.passes.fusion.dominators import PostDominators
from tests.compiler.passes.fusion.branches import random_branches
from tests.compiler.passes.numbers import graph


@pytest.mark.parametrize("seed", range(12))
def test_post_dominators_are_those_of_networkx(seed: int) -> None:
    g = random_branches(seed)
    backwards = nx.DiGraph()
    for n in g.nodes:
        users = [u.output for u in g.users.get(n.output, ())]
        is_end = n.output in g.result_values or not users
        backwards.add_edges_from((u, n.output) for u in users)
        if is_end:
            backwards.add_edge("", n.output)
    # A node whose only readers are unread still precedes its readers.
    expected = nx.immediate_dominators(backwards, "")
    found = PostDominators(g).parent
    assert {n.output: found[n.output] for n in g.nodes} == {
        n.output: expected[n.output] for n in g.nodes
    }


def test_values_read_near_and_far_at_once_take_steps_that_grow() -> None:
    n = 3000
    lines = ["a0: f32[3] = neg(x)"]
    lines += [f"a{i}: f32[3] = relu(a{i - 1})" for i in range(1, n)]
    lines += [f"b{i}: f32[3] = add(a{n - 1}, a{i})" for i in range(n)]
    lines.append("y: f32[3] = exp(b0)")
    body = "\n".join(lines)
    found = PostDominators(graph(f"graph g(x: f32[3]) {{\n{body}\nreturn y\n}}")).parent
    assert (found["b0"], found["y"], found["b1"]) == ("y", "", "")
    assert found["a1"] == ""
