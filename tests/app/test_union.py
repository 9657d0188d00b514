"""One drawing for all stages: every node has one place, and large drawings are grouped."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from app.union import Drawing, grouped, union_payload


def skeleton(*edges: str) -> dict:
    """A stage from edges such as "a>b"; the label of a node is its id in capitals."""
    pairs = [e.split(">") for e in edges]
    ids = dict.fromkeys(i for pair in pairs for i in pair)
    return {"nodes": [[i, i.upper()] for i in ids], "edges": pairs}


def test_nodes_of_all_stages_are_in_with_the_stages_they_live_in():
    drawing = Drawing.of([skeleton("a>b", "b>c"), skeleton("a>b", "b>c"), skeleton("a>c")])
    assert drawing.stages == {"a": [[0, 3]], "b": [[0, 2]], "c": [[0, 3]]}
    assert list(drawing.edges) == [("a", "b"), ("b", "c"), ("a", "c")]


def test_a_node_that_comes_back_has_two_ranges():
    drawing = Drawing.of([skeleton("a>b"), skeleton("a>c"), skeleton("a>b")])
    assert drawing.stages["b"] == [[0, 1], [2, 3]]


def test_no_text_of_the_model_is_in_the_dot():
    hostile = '"];evil[label="<script>'
    stage = {"nodes": [[hostile, hostile], ["b\nc", "b"]], "edges": [[hostile, "b\nc"]]}
    payload = union_payload(Drawing.of([stage]), 10, ())
    assert "evil" not in payload["dot"]
    assert "script" not in payload["dot"]
    statement = r'(digraph union \{|\}|(node|edge|\w+) \[[\w =".]*\]|\w+=[\w".]+|n\d+ -> n\d+|)'
    for line in payload["dot"].splitlines():
        assert re.fullmatch(statement, line.strip()), line
    assert [n["id"] for n in payload["nodes"]] == [hostile, "b\nc"]


def test_a_small_drawing_has_no_groups():
    payload = union_payload(Drawing.of([skeleton("a>b", "b>c")]), 3, ())
    assert (payload["collapsed"], payload["groups"], payload["n_drawn"]) == (False, [], 3)


def test_chains_are_grouped_first():
    chain = [f"a{i}>a{i + 1}" for i in range(9)]
    other = [f"b{i}>b{i + 1}" for i in range(9)]
    drawing = Drawing.of([skeleton("x>a0", "x>b0", *chain, *other)])
    payload = union_payload(drawing, 5, ())
    assert payload["n_nodes"] == 21
    assert sorted(map(sorted, (g["members"] for g in payload["groups"]))) == [
        [f"a{i}" for i in range(10)],
        [f"b{i}" for i in range(10)],
    ]
    assert [n["id"] for n in payload["nodes"]] == ["x"]
    assert payload["n_drawn"] == 3


def test_an_open_group_shows_its_members_and_the_others_keep_their_names():
    chain = [f"a{i}>a{i + 1}" for i in range(9)]
    other = [f"b{i}>b{i + 1}" for i in range(9)]
    drawing = Drawing.of([skeleton("x>a0", "x>b0", *chain, *other)])
    closed = {g["key"]: g["members"] for g in union_payload(drawing, 5, ())["groups"]}
    first, second = closed
    payload = union_payload(drawing, 5, {first})
    assert {g["key"]: g["members"] for g in payload["groups"]} == {second: closed[second]}
    assert {n["id"] for n in payload["nodes"]} == {"x", *closed[first]}


@st.composite
def graphs(draw):
    n = draw(st.integers(1, 60))
    pairs = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))
    edges = draw(st.lists(pairs, max_size=100, unique=True))
    ids = [f"v{i}" for i in range(n)]
    return ids, [(ids[a], ids[b]) for a, b in edges if a < b]


@given(graphs(), st.integers(1, 20))
@settings(deadline=None)
def test_groups_bound_the_drawing_and_never_make_a_cycle(graph, limit):
    ids, edges = graph
    groups = grouped(ids, edges, limit)
    members = [m for g in groups for m in g]
    assert len(members) == len(set(members))
    n_boxes = len(ids) - len(members) + len(groups)
    assert n_boxes <= max(limit, 1)
    box = {m: f"g{i}" for i, g in enumerate(groups) for m in g}
    between = {(box.get(a, a), box.get(b, b)) for a, b in edges}
    assert _is_acyclic({e for e in between if e[0] != e[1]})


def _is_acyclic(edges: set[tuple[str, str]]) -> bool:
    while edges:
        targets = {b for _, b in edges}
        rest = {(a, b) for a, b in edges if a in targets}
        if rest == edges:
            return False
        edges = rest
    return True


@given(graphs())
def test_cycles_between_stages_are_borne(graph):
    ids, edges = graph
    both = edges + [(b, a) for a, b in edges]
    assert sum(map(len, grouped(ids, both, 3))) <= len(ids)
