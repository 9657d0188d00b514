"""Tests that a delta, applied to the previous graph, gives the next graph for any change."""

from __future__ import annotations

import string
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from app.wire.deltas import applied, chained, delta_of, joined, spliced

NAMES = st.lists(st.sampled_from(string.ascii_lowercase), unique=True, max_size=12)
OPS = st.sampled_from(["add", "neg"])


@st.composite
def graphs(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Return the graphs of a few stages, which share only some names."""
    made = []
    for stage in range(draw(st.integers(1, 4))):
        names = draw(NAMES)
        made.append(
            {
                "version": 1,
                "stage": stage,
                "graph_stage": stage,
                "name": f"pass{stage}",
                "nodes": [{"id": name, "op": draw(OPS)} for name in names],
                "edges": [[a, b, 0, a] for a, b in pairwise(names)],
                "constants": [{"name": name.upper(), "text": draw(OPS)} for name in draw(NAMES)],
                "added": draw(NAMES),
                "changed": [],
                "refined": [],
                "removed": draw(NAMES),
            }
        )
    return made


@given(graphs())
def test_deltas_put_together_are_the_graphs(stages):
    befores = [None, *stages[:-1]]
    deltas = [delta_of(a, b) for a, b in zip(befores, stages, strict=True)]
    graph = None
    for delta, stage in zip(deltas, stages, strict=True):
        graph = applied(graph, delta)
        assert graph == stage
    assert chained(deltas) == stages[-1]


@given(NAMES, NAMES)
def test_pieces_put_together_are_the_new_items(old, new):
    pieces = spliced(old, new, str)
    assert joined(old, pieces) == new
    sent = [item for _, _, items in pieces for item in items]
    assert sent == [item for item in new if item not in old]


def test_what_is_kept_is_told_as_ranges():
    old = [{"id": n} for n in "abcdef"]
    changed = {"id": "c", "op": "neg"}
    new = [*old[:2], changed, *old[4:]]
    assert spliced(old, new, lambda node: node["id"]) == [(0, 2, [changed]), (4, 6, [])]
    assert joined(old, [(0, 2, [])])[0] is old[0]
    assert spliced(old, old, lambda node: node["id"]) == [(0, 6, [])]
