"""Tests of the union of all stages: one position per node, and groups with separate layouts."""

from __future__ import annotations

import re

import pytest

from app.drawing import Drawing
from app.union import union_payload


def skeleton(*edges: str, origins: dict[str, list[str]] | None = None) -> dict:
    """Return a stage from edges like "a>b"; labels are upper-case ids, x an input, y a result."""
    pairs = [e.split(">") for e in edges]
    ids = dict.fromkeys(i for pair in pairs for i in pair)
    known = origins or {}
    ops = {"x": "input", "y": "result"}
    nodes = [[i, i.upper(), ops.get(i, "op"), [] if i in ops else known.get(i, [i])] for i in ids]
    return {"nodes": nodes, "edges": pairs}


def layers(n: int) -> list[str]:
    """Return the edges of n layers of eight nodes; each layer reads the last node before it."""
    names = [f"/layer.{k}/{c}" for k in range(n) for c in "abcdefgh"]
    skips = [f"/layer.{k}/h>/layer.{k + 1}/h" for k in range(n - 1)]
    return [*(f"{a}>{b}" for a, b in zip(["x", *names], [*names, "y"], strict=True)), *skips]


def test_nodes_of_all_stages_are_in_with_the_stages_they_live_in():
    drawing = Drawing.of([skeleton("a>b", "b>c"), skeleton("a>b", "b>c"), skeleton("a>c")])
    assert drawing.stages == {"a": [(0, 3)], "b": [(0, 2)], "c": [(0, 3)]}
    assert list(drawing.edges) == [("a", "b"), ("b", "c"), ("a", "c")]


def test_a_node_that_comes_back_has_two_ranges():
    drawing = Drawing.of([skeleton("a>b"), skeleton("a>c"), skeleton("a>b")])
    assert drawing.stages["b"] == [(0, 1), (2, 3)]


def test_no_text_of_the_model_is_in_the_dot():
    hostile = '"];evil[label="<script>'
    stage = {
        "nodes": [[hostile, hostile, "op", [hostile]], ["b\nc", "b", "op", []]],
        "edges": [[hostile, "b\nc"]],
    }
    for payload in (
        union_payload(Drawing.of([stage]), 10),
        union_payload(Drawing.of([skeleton(*layers(4))]), 10),
    ):
        statement = (
            r'(digraph union \{|\}|(graph|node|edge|\w+) \[[\w =".]*\]|[gn]\d+ \[[\w =.]*\]|'
            r"(n\d+|g\d+|into) -> (n\d+|g\d+|out_of) \[[\w= ]*\]|\{rank=\w+ \w+ \[[\w =.]*\]\}|)"
        )
        for text in (payload["dot"], *(g["dot"] for g in payload["groups"])):
            for line in text.splitlines():
                assert re.fullmatch(statement, line.strip()), line


def test_a_small_drawing_has_no_groups():
    payload = union_payload(Drawing.of([skeleton("a>b", "b>c")]), 3)
    assert (payload["collapsed"], payload["groups"], payload["n_drawn"]) == (False, [], 3)


def test_layers_are_one_box_with_an_inside():
    payload = union_payload(Drawing.of([skeleton(*layers(4))]), 8)
    repeat, *inner = payload["groups"]
    assert (repeat["kind"], repeat["times"], repeat["group"]) == ("repeat", 4, "")
    assert [g["label"] for g in inner] == ["layer.0", "layer.1", "layer.2", "layer.3"]
    assert {g["group"] for g in inner} == {repeat["key"]}
    assert [repeat["open"], *(g["open"] for g in inner)] == [True, False, False, False, False]
    assert (payload["n_drawn"], payload["collapsed"]) == (6, True)
    within = {n["id"]: n["group"] for n in payload["nodes"]}
    assert within["x"] == within["y"] == ""
    assert within["/layer.2/c"] == inner[2]["key"]


@pytest.mark.parametrize(("limit", "n_drawn"), [(3, 3), (4, 6), (31, 6), (32, 34)])
def test_groups_are_open_at_first_while_their_boxes_are_few(limit, n_drawn):
    payload = union_payload(Drawing.of([skeleton(*layers(4))]), limit)
    assert payload["n_drawn"] == n_drawn
    assert payload["collapsed"] == (n_drawn < 34)


def test_an_edge_is_drawn_in_pieces_from_border_to_border():
    drawing = Drawing.of([skeleton(*layers(4))])
    repeat, first, second = [g.key for g in drawing.root.groups()][:3]
    keys, levels = drawing.keys(), drawing.levels()
    assert list(levels[""]) == [("n0", repeat), (repeat, keys["y"])]
    assert ("into", first) in levels[repeat]
    assert (first, second) in levels[repeat]
    assert (keys["/layer.0/h"], "out_of") in levels[first]
    assert {("into", keys["/layer.1/a"]), ("into", keys["/layer.1/h"])} <= set(levels[second])
    inside = {e for pieces in levels.values() for e in pieces if "g" not in "".join(e)}
    assert (keys["/layer.1/a"], keys["/layer.1/b"]) in inside
    assert (keys["/layer.0/h"], keys["/layer.1/h"]) not in inside


def test_more_stages_change_no_group():
    first = skeleton(*layers(4))
    fused = skeleton("x>f", "f>y", origins={"f": ["/layer.1/a", "/layer.1/b", "/layer.0/h"]})
    one, two = Drawing.of([first]), Drawing.of([first, fused])
    assert [(g.key, list(g.ids())) for g in one.root.groups()] == [
        (g.key, list(g.ids())) for g in two.root.groups()
    ]
    assert two.group_of["f"] == two.group_of["/layer.1/c"]
    assert {i: two.keys()[i] for i in one.labels} == one.keys()


def test_many_inputs_and_results_lie_beside_their_readers():
    edges = layers(4)
    caches = [f"cache{k}{c}>/layer.{k}/{c}" for k in range(4) for c in "abcdefg"]
    stage = skeleton(*edges, *caches)
    for row in stage["nodes"]:
        if row[0].startswith("cache"):
            row[2:] = ["input", []]
    drawing = Drawing.of([stage])
    assert drawing.group_of["cache2c"] == drawing.group_of["/layer.2/c"]
    assert drawing.group_of["cache0a"] == drawing.group_of["/layer.0/a"]
