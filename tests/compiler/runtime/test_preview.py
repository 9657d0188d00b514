"""Tests of the predicted execution of a graph, against the compiled program."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import compiler
from compiler.figures.execution import n_crossings, n_inside, n_native, native_flops
from compiler.ir.graph import Graph, all_nodes
from compiler.passes.pipeline.run import run_pipeline
from compiler.runtime.preview import Preview, fates, preview
from compiler.targets.target import by_name
from tests.models import light_model
from tests.onnx_models import BOOL, graph, model, node, value

C = value("c", (), BOOL)
X = value("x", (2, 3))


def of(g: Graph) -> Preview:
    return preview(run_pipeline(g)[0], by_name("host"))


@pytest.fixture(scope="module")
def shufflenet() -> Graph:
    return compiler.load(light_model("shufflenet"))


NEGATIVE = [node("Neg", ["k"], ["t"])]
PARTS = [
    node("SplitToSequence", ["k"], ["parts"], axis=0),
    node("ConcatFromSequence", ["parts"], ["t"], axis=0),
]


def a_choice(other: list[Any]) -> Graph:
    """Return a sum, then by a condition its exponential or the result of other nodes."""
    made = model(
        [
            node("Add", ["x", "x"], ["k"]),
            node(
                "If",
                ["c"],
                ["y"],
                then_branch=graph([node("Exp", ["k"], ["t"])], outputs=[value("t", None)]),
                else_branch=graph(other, outputs=[value("t", None)]),
            ),
        ],
        [X, C],
        [value("y", None)],
    )
    return compiler.load(made.SerializeToString())


def test_the_plan_is_that_of_the_program(shufflenet: Graph) -> None:
    assert of(shufflenet).plan == compiler.compile(shufflenet).memory


def test_the_kernels_are_those_of_the_program(shufflenet: Graph) -> None:
    for g in (shufflenet, a_choice(NEGATIVE)):
        told, made = of(g), compiler.compile(g).kernels
        assert [(k.name, k.native, k.inside, k.flops) for k in told.kernels] == [
            (k.name, k.native, k.inside, k.flops) for k in made
        ]
        assert native_flops(told.kernels) == sum(k.flops for k in made)
        assert (n_crossings(told.kernels), told.fallbacks) == (0, [])


def test_every_node_meets_one_fate(shufflenet: Graph) -> None:
    found = fates(shufflenet, of(shufflenet))
    counted = Counter(n.op for n in all_nodes(shufflenet))
    assert {op: n.total() for op, n in found.items()} == counted
    assert set(found["conv"]) == set(found["batch_norm"]) == {"native"}
    assert set(found["fill"]) == {"constant"}


def test_what_is_inside_control_flow_is_counted_too() -> None:
    g = a_choice(NEGATIVE)
    told = of(g)
    assert (n_native(told.kernels), n_inside(told.kernels)) == (2, 2)
    assert fates(g, told) == {op: Counter(native=1) for op in ("add", "onnx.If", "exp", "neg")}


def test_what_holds_a_fallback_is_one_with_its_reason_and_all_inside() -> None:
    g = a_choice(PARTS)
    told = of(g)
    (fallback,) = told.fallbacks
    assert fallback.node.op == "onnx.If"
    assert "branch" in fallback.because
    assert (n_native(told.kernels), n_crossings(told.kernels)) == (1, 1)
    inside = [k for k in told.kernels if k.inside]
    assert {k.inside for k in inside} == {"onnx.If"}, "regions of a fallback are listed"
    found = fates(g, told)
    assert found["add"] == Counter(native=1)
    assert found["exp"] == found["onnx.If"] == Counter(reference=1)
