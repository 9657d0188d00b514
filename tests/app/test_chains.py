"""Tests of the chains of a drawing, which are drawn as vertical lines."""

from __future__ import annotations

from itertools import pairwise

import pytest

from app.chains import chains_of


@pytest.mark.parametrize(
    ("edges", "chains"),
    [
        ("a>b b>c", ["abc"]),
        ("a>b b>c a>c c>d", ["abcd"]),  # without b: the edge from a to c
        ("a>b a>c b>d c>d d>e", ["de"]),
        ("x>a a>b b>y x>y y>z", ["xabyz"]),  # a skip connection
        ("a>b b>c c>d d>b", ["abcd"]),  # another stage has another order
        ("", []),
    ],
)
def test_chains_have_no_branches_except_edges_around_their_nodes(edges: str, chains: list[str]):
    pairs = [(a, b) for a, b in (edge.split(">") for edge in edges.split())]
    assert ["".join(chain) for chain in chains_of(pairs)] == chains


def test_a_long_chain_needs_no_deep_recursion():
    names = [f"n{i}" for i in range(20_000)]
    assert chains_of(pairwise(names)) == [names]
