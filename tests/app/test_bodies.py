"""Tests of nodes inside control flow: payloads of graphs, marks, steps, texts, and the drawing."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import compiler
from app.drawing import Drawing
from app.union import union_payload
from app.wire import graphs, texts
from app.wire.deltas import applied, delta_of
from app.wire.identities import Identified
from app.wire.levels import Ways, arrow_of
from app.wire.marks import marks
from app.wire.neighbours import neighbours
from app.wire.programs import provenance
from app.wire.steps import steps_payload
from compiler.figures.passes import Supply
from compiler.machine.machine import estimated
from compiler.runtime.program import Program
from compiler.targets.target import by_name
from compiler.trace import Event
from tests.branching_models import chooser
from tests.onnx_models import BOOL, graph, model, node, value

THEN, ELSE = "y→then_branch→", "y→else_branch→"
LOOP = f"{THEN}l→body→"
SUPPLY = Supply(estimated(by_name("x86-64-v3")), "L1")


@cache
def program() -> Program:
    """Return the compiled model; its trace has the graph of every stage."""
    return compiler.compile(chooser().SerializeToString())


def changes() -> list[Event]:
    """Return the events of the passes that changed the graph."""
    trace = program().trace
    assert trace is not None
    return [e for e in trace.events if e.changed]


def event(name: str) -> Event:
    """Return the first event of a pass that changed the graph."""
    return next(e for e in changes() if e.name == name)


def imported() -> compiler.Graph:
    return changes()[0].before


def stage(g: Any, before: Any = None) -> Any:
    was = before and Identified(before)
    return graphs.stage_graph(0, 0, "a pass", Identified(g), was, "→")


def test_nodes_in_bodies_are_nodes_of_the_graph_with_ids_that_name_the_body():
    payload = stage(imported())
    inside = {n["id"]: n["inside"] for n in payload["nodes"] if "inside" in n}
    assert inside[f"{THEN}m"] == ("y", "then_branch")
    assert inside[f"{ELSE}m"] == ("y", "else_branch")
    assert inside[f"{LOOP}s_next"] == (f"{THEN}l", "body")
    assert {f"{LOOP}i", f"{LOOP}→s_next"} <= set(inside)
    by_id = {n["id"]: n for n in payload["nodes"]}
    assert len(by_id) == len(payload["nodes"])
    assert (by_id[f"{THEN}m"]["outputs"], by_id[f"{THEN}m"]["inputs"]) == (["m"], ["k", "w"])
    assert by_id["y"]["regions"] == {}
    assert not {"inside", "value"} & {key for n in stage(outer())["nodes"] for key in n}


def outer() -> compiler.Graph:
    """Return a graph without control flow."""
    return compiler.parse("graph g(x: f32[2]) {\n  y: f32[2] = relu(x)\n  return y\n}")


def test_edges_lead_from_captured_values_into_bodies():
    edges = stage(imported())["edges"]
    assert ("k", f"{THEN}m", 0, "k") in edges
    assert ("k", f"{ELSE}m", 0, "k") in edges
    assert (f"{THEN}r", f"{THEN}l", 2, "r") in edges
    assert (f"{LOOP}s", f"{LOOP}s_next", 0, "s") in edges
    assert (f"{THEN}l", f"{THEN}→l", 0, "l") in edges
    assert not [e for e in edges if e[0] == "k" and e[1] == "y"]


def test_constants_of_a_body_have_their_readers_and_their_name_in_the_body():
    rows = {c["name"]: c for c in stage(imported())["constants"]}
    weights = rows[f"{THEN}w"]
    assert (weights["value"], weights["readers"]) == ("w", [f"{THEN}m"])
    assert rows[f"{LOOP}half"]["readers"] == [f"{LOOP}s_next"]


def test_the_marks_of_a_pass_are_those_of_nodes_inside_bodies():
    simplified = event("simplify")
    found = marks(Identified(simplified.before), Identified(simplified.after))
    assert {f"{ELSE}m", f"{ELSE}p"} <= set(found["removed"])
    assert f"{ELSE}e" in found["changed"]
    assert "y" not in found["changed"]
    unrolled = event("unroll_loops")
    found = marks(Identified(unrolled.before), Identified(unrolled.after))
    assert f"{THEN}s_next" in found["added"]
    assert {f"{THEN}l", f"{LOOP}s_next", f"{LOOP}i", f"{LOOP}→s_next"} <= set(found["removed"])


def test_deltas_send_only_the_changed_nodes_of_a_body():
    before = stage(imported())
    for each in changes():
        after = stage(each.after, each.before)
        delta = delta_of(before, after)
        assert applied(before, delta) == after
        before = after
    simplified = event("simplify")
    delta = delta_of(stage(simplified.before), stage(simplified.after, simplified.before))
    sent = [n["id"] for _, _, nodes in delta["nodes"] for n in nodes]
    assert sorted(sent) == [f"{ELSE}e", f"{THEN}s_next_3"]


def test_steps_name_the_nodes_of_the_body_that_they_took_and_made():
    steps = steps_payload(1, event("simplify").steps, SUPPLY)["steps"]
    dropped = next(s for s in steps if s["rule"] == "drop_double_negation")
    assert (dropped["at"], dropped["took"]) == (f"{ELSE}p", [f"{ELSE}m", f"{ELSE}p"])
    unrolled = steps_payload(1, event("unroll_loops").steps, SUPPLY)["steps"]
    assert [s["took"] for s in unrolled if s["outcome"] == "applied"] == [[f"{THEN}l"]]
    known = {n["id"] for n in stage(event("unroll_loops").after)["nodes"]}
    assert {name for s in unrolled for name in s["made"]} <= known


def test_the_lines_of_a_node_in_a_body_are_inside_the_lines_of_the_control_flow_node():
    payload = texts.stage_text(0, 0, Identified(imported()))
    lines = payload["text"].split("\n")
    spans = {key: (start, n) for start, n, key in payload["spans"]}
    for key, text in ((f"{ELSE}m", "m: f32[2,8] = neg(k)"), (f"{LOOP}s_next", "mul(s, half)")):
        start, n = spans[key]
        assert n == 1
        assert text in lines[start]
    start, n = spans["y"]
    assert lines[start + n - 1] == "  }"
    assert start < spans[f"{LOOP}half"][0] < start + n
    assert [s[0] for s in payload["spans"]] == sorted(s[0] for s in payload["spans"])


def test_the_fusion_verdict_of_an_edge_inside_a_body_is_that_of_the_ledger():
    found = neighbours(imported(), program().trace, range(100), [Ways()] * 100)["edges"]
    verdicts = {(e["maker"], e["reader"]): e for e in found}
    assert verdicts["product", "positive"]["verdict"] == "together"
    assert ("twice", "minus") in verdicts
    assert ("twice", "choice") not in verdicts
    apart = verdicts["positive", "again"]
    assert "neither reads" not in apart["because"]


def test_an_onnx_node_of_a_body_is_followed_through_the_stages():
    stages = {0: Identified(imported()), 1: Identified(event("fuse").after)}
    rows = {row["name"]: row for row in provenance(stages, program())["onnx"]}
    assert rows["positive"]["nodes"] == {"0": [f"{THEN}r"], "1": [f"{THEN}s_next_3"]}
    assert rows["choice"]["nodes"]["0"] == ["y"]


def test_the_arrow_of_ids_is_in_no_name_of_the_model():
    branch = graph([node("Exp", ["x"], ["a→b"])], outputs=[value("a→b", None)])
    made = model(
        [node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)],
        [value("x"), value("c", (), BOOL)],
    )
    loaded = compiler.load(made.SerializeToString())
    arrow = arrow_of(loaded)
    assert arrow == "→→"
    ids = [n["id"] for n in graphs.stage_graph(0, 0, "", Identified(loaded), None, arrow)["nodes"]]
    assert "y→→then_branch→→a→b" in ids
    assert len(set(ids)) == len(ids)


def drawing(*stages: compiler.Graph) -> Drawing:
    return Drawing.of([graphs.skeleton(Identified(g), "→") for g in stages])


def test_a_control_flow_node_is_a_group_of_its_bodies():
    payload = union_payload(drawing(imported()), 500)
    by_key = {g["key"]: g for g in payload["groups"]}
    choice = next(g for g in payload["groups"] if g.get("node") == "y")
    assert (choice["kind"], choice["group"], choice["open"]) == ("region", "", True)
    bodies = [g for g in payload["groups"] if g["group"] == choice["key"]]
    assert {g["label"] for g in bodies} == {"then_branch", "else_branch"}
    loop = next(g for g in payload["groups"] if g.get("node") == f"{THEN}l")
    assert by_key[loop["group"]]["label"] == "then_branch"
    within = {n["id"]: n["group"] for n in payload["nodes"]}
    assert within["y"] == choice["key"]
    assert within[f"{LOOP}s_next"] == within[f"{LOOP}i"] == within[f"{THEN}l"] == loop["key"]
    drawn = sum(g["dot"].count(" [width=") for g in payload["groups"]) + payload["dot"].count(
        " [width="
    )
    assert drawn == payload["n_nodes"] - 2 + len(payload["groups"])


def test_the_bodies_are_closed_at_first_if_the_drawing_would_be_too_large():
    payload = union_payload(drawing(imported()), 3)
    assert payload["n_drawn"] == 6
    assert payload["collapsed"]
    assert not any(g["open"] for g in payload["groups"])


def test_later_stages_keep_the_groups_of_bodies_and_add_those_of_new_nodes():
    graphs_ = [imported(), *(e.after for e in changes())]
    first, whole = drawing(graphs_[0]), drawing(*graphs_)
    keys = [(g.key, g.node, g.label) for g in first.groups()]
    assert keys == [(g.key, g.node, g.label) for g in whole.groups()]
    assert {i: whole.group_of[i] for i in first.group_of} == first.group_of
    assert whole.group_of[f"{THEN}s_next_2"] == whole.group_of[f"{THEN}m"]
    for one, two in pairwise(first.root.groups()):
        assert one.key != two.key


def test_a_loop_that_a_pass_creates_is_a_closed_group_where_its_layer_was():
    layer = compiler.parse("graph g(x: f32[2]) {\n  y: f32[2] = relu(x)\n  return y\n}")
    looped = [["x", "x", "input", []], ["y", "scan", "onnx.Scan", ["y"]]]
    looped += [["y→body→a", "relu", "relu", ["y"], ["y", "body"]], ["→y", "y", "result", []]]
    skeleton = {"nodes": looped, "edges": [["x", "y"], ["y", "→y"]]}
    given = graphs.skeleton(Identified(layer), "→")
    made = Drawing.of([given, skeleton])
    (region,) = made.groups()
    assert (region.node, region.parent, made.group_of["y"]) == ("y", made.root, region.key)
    assert made.keys()["y"] == Drawing.of([given]).keys()["y"]
    payload = union_payload(made, 500)
    assert [g["open"] for g in payload["groups"]] == [False]
    assert payload["n_drawn"] == 3
