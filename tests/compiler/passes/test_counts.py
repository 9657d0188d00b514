"""Tests of counts in the words of steps."""

from __future__ import annotations

import compiler
from compiler.passes.engine.counts import counted_verb
from compiler.passes.pipeline.run import run_pipeline
from compiler.units import count_text


def test_a_count_agrees_with_its_noun_and_verb():
    assert [count_text(n, "node") for n in (0, 1, 1200)] == ["0 nodes", "1 node", "1,200 nodes"]
    assert counted_verb(1, "node", "runs", "run") == "1 node runs"
    assert counted_verb(2, "node", "runs", "run") == "2 nodes run"


def test_a_rewrite_of_one_node_by_another_is_no_change_of_their_number():
    graph = compiler.parse(
        "graph g(x: f32[2]) {\n  const c: f32[] = splat(4)\n"
        "  y: f32[2] = div(x, c)\n  return y\n}\n"
    )
    (step,) = [s for e in run_pipeline(graph, "simplify")[1].events for s in e.steps]
    assert step.because.endswith("1 node rewritten")
