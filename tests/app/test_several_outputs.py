"""Tests of a kernel with two results, in every part of an answer."""

from __future__ import annotations

from typing import Any

import pytest
from onnx import helper

from tests.app import test_compile as whole
from tests.app.test_compile import compiled, f32, model_of, part, uploaded


@pytest.fixture(scope="module")
def gates(real) -> dict[str, Any]:
    """A product and a sum, with the sum and its activation as results."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], name="product"),
        helper.make_node("Add", ["a", "r"], ["b"], name="sum"),
        helper.make_node("Relu", ["b"], ["c"], name="activation"),
        helper.make_node("Transpose", ["b"], ["t"], name="turned", perm=[1, 0]),
    ]
    inputs = [f32("x", [4, 9]), f32("w", [9, 37]), f32("r", [4, 37])]
    model = model_of(nodes, inputs, [f32("c", [4, 37]), f32("t", [37, 4])])
    pipeline = "fuse{policy=xla}"
    return compiled(real, uploaded(real, model), pipeline=pipeline)


def test_both_results_are_shown_and_have_edges(gates, real):
    last = part(real, gates, f"stages/{gates['stages'][-1]['stage']}/graph")
    (fused,) = [n for n in last["nodes"] if n["op"] == "fusion"]
    assert fused["outputs"] == ["b", "c"]
    assert fused["types"] == ["f32[4,37]", "f32[4,37]"]
    assert {edge[3] for edge in last["edges"] if edge[0] == fused["id"]} == {"b", "c"}
    assert gates["check"]["skipped"] == ""
    assert all(o["relative_error"] < 1e-4 for o in gates["check"]["outputs"])


@pytest.mark.parametrize(
    "check",
    [
        whole.test_every_stage_has_a_graph_whose_marks_lead_to_the_next,
        whole.test_every_part_of_every_kernel_can_be_read,
        whole.test_provenance_leads_from_each_node_to_its_kernels,
        whole.test_all_parts_have_the_described_shape,
        whole.test_steps_name_values_of_the_graphs_around_them,
        whole.test_the_text_and_its_spans_belong_together,
    ],
    ids=lambda check: check.__name__,
)
def test_it_keeps_what_all_answers_keep(check, gates, real):
    check(gates, real)


def test_its_memory_does_not_overlap(gates):
    whole.test_the_memory_plan_has_no_overlap(gates)
