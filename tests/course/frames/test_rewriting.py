"""Tests of the frames of passes: their nodes are those of the log."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from app.wire.moving import motion
from compiler import parse
from compiler.passes.pipeline.run import run_pipeline
from course.frames.rewriting import applied
from course.graphs import read_graph
from tests.course.lessons import ran, results

LAYER = """graph layer(x: f32[12,40]) {
  const one: f32[] = splat(1.0)
  const zero: f32[] = splat(0.0)
  const w: f32[40,7] = seeded(1, 0.05)
  mean = reduce_mean(x, axes=[1], keepdims=true)
  centred = sub(x, mean)
  again = reduce_mean(x, axes=[1], keepdims=true)
  other = sub(x, again)
  unit = div(other, mean)
  scaled = mul(unit, one)
  shifted = add(scaled, zero)
  growth = exp(shifted)
  logged = reduce_sum(growth, axes=[1], keepdims=false)
  y = matmul(shifted, w)
  z = relu(centred)
  return y, z
}"""
PIPELINES = (
    "dead_code_elimination",
    "common_subexpression_elimination",
    "remove_noops",
    "dead_code_elimination,common_subexpression_elimination,remove_noops",
)


def played(pipeline: str, graph: str = LAYER) -> dict[str, Any]:
    """Return the moving picture of passes."""
    run = ran(
        f"```graph {{name=layer}}\n{graph}\n```",
        f"```pipeline {{name=p of=layer moving=true}}\n{pipeline}\n```",
    )
    return dict(results(run, "p").data["motion"])


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_the_nodes_of_frames_are_those_of_the_log(pipeline: str) -> None:
    picture = played(pipeline)
    after, trace = run_pipeline(read_graph(LAYER), pipeline)
    steps = applied(trace)
    first, *frames = picture["frames"]
    assert (first["phase"], first["marked"], len(frames)) == ("start", [], 2 * len(steps))
    assert steps
    for i, step in enumerate(steps):
        match, replace = frames[2 * i : 2 * i + 2]
        for frame in (match, replace):
            assert (frame["rule"], frame["at"], frame["step"]) == (step.rule, step.at, i + 1)
            assert (frame["took"], frame["made"]) == ([*step.took], [*step.made])
        nodes = {n.output for n in parse(picture["graphs"][match["graph"]]).nodes}
        assert set(match["marked"]) == set(step.took) & nodes
        assert match["marked"]
        left = {n.output for n in parse(picture["graphs"][replace["graph"]]).nodes}
        assert set(replace["marked"]) == set(step.made) & left
        # The nodes that the step took and did not make are gone.
        assert not (set(step.took) - set(step.made)) & left
    assert picture["graphs"][-1] == str(after)


def test_each_graph_differs_from_the_graph_before_it() -> None:
    graphs = played(PIPELINES[-1])["graphs"]
    assert all(a != b for a, b in pairwise(graphs))


def test_large_graphs_are_left_out_with_the_reason() -> None:
    lines = "\n".join(f"  n{i + 1} = neg(n{i})" for i in range(41))
    picture = played("dead_code_elimination", f"graph g(n0: f32[3]) {{\n{lines}\n  return n41\n}}")
    assert picture["frames"] == []
    assert "41 nodes" in picture["omitted"]


def test_passes_without_rewrites_are_left_out_with_the_reason() -> None:
    picture = played("dead_code_elimination", "graph g(x: f32[3]) {\n  y = neg(x)\n  return y\n}")
    assert (picture["frames"], picture["omitted"]) == ([], "its passes apply no rewrite")


def test_the_drawing_has_all_graphs_and_each_frame_shows_its_own() -> None:
    picture = played(PIPELINES[-1])
    made = motion(picture)
    drawing = made["drawing"]
    assert drawing is not None
    names = [box["id"] for box in drawing["nodes"]]
    for frame, shown in zip(picture["frames"], made["rewrites"], strict=True):
        graph = parse(picture["graphs"][frame["graph"]])
        inner = [drawing["nodes"][i] for i in shown["boxes"]]
        kinds = ("input", "result")
        values = sorted(b["id"] for b in inner if b["op"] not in kinds)
        assert values == sorted(n.output for n in graph.nodes)
        assert {names[i] for i in shown["marked"]} == set(frame["marked"])
        # Each line is between visible boxes, and each operand that is no constant has one.
        visible = {box["key"] for box in inner}
        lines = [made["lines"][i] for i in shown["lines"]]
        assert all({*line} <= visible for line in lines)
        known = {v.name for v in graph.inputs} | {n.output for n in graph.nodes}
        operands = sum(len({*n.inputs} & known) for n in graph.nodes)
        assert len(lines) == operands + len(graph.results)


def test_a_picture_without_frames_has_no_drawing() -> None:
    left = {"kind": "rewrites", "omitted": "too large", "frames": [], "graphs": []}
    made = motion(left)
    assert (made["drawing"], made["rewrites"], made["omitted"]) == (None, [], "too large")
