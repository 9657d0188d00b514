"""Tests of splitting the neighbouring nodes of a level into stretches."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from app.grouping.stretches import stretches


def test_chains_lie_together_first():
    # 0 -> 1..10 in a chain, 0 -> 11..20 in a chain.
    edges = [(0, 1), (0, 11), *((i, i + 1) for i in range(1, 20) if i != 10)]
    found = stretches(range(21), edges, 5)
    assert sorted(map(sorted, found)) == [list(range(1, 11)), list(range(11, 21))]


@st.composite
def graphs(draw):
    n = draw(st.integers(1, 60))
    pairs = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))
    edges = draw(st.lists(pairs, max_size=100, unique=True))
    return range(n), [(a, b) for a, b in edges if a < b]


@given(graphs(), st.integers(1, 20))
@settings(deadline=None)
def test_stretches_bound_the_drawing_and_never_make_a_cycle(graph, limit):
    ids, edges = graph
    found = stretches(ids, edges, limit)
    members = [m for piece in found for m in piece]
    assert len(members) == len(set(members))
    assert len(ids) - len(members) + len(found) <= limit
    box = {m: -1 - i for i, piece in enumerate(found) for m in piece}
    between = {(box.get(a, a), box.get(b, b)) for a, b in edges}
    assert _is_acyclic({e for e in between if e[0] != e[1]})


def _is_acyclic(edges: set[tuple[int, int]]) -> bool:
    while edges:
        targets = {b for _, b in edges}
        rest = {(a, b) for a, b in edges if a in targets}
        if rest == edges:
            return False
        edges = rest
    return True


@given(graphs())
@settings(deadline=None)
def test_cycles_are_borne(graph):
    ids, edges = graph
    assert sum(map(len, stretches(ids, edges + [(b, a) for a, b in edges], 3))) <= len(ids)
