"""Tests that replaying the text of every schedule of a policy gives the same kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

import compiler.ops
from compiler.frontend import load
from compiler.ir.graph import Graph
from compiler.ir.infer import specialize
from compiler.ir.operator import OPERATORS
from compiler.passes.pipeline.run import run_pipeline
from compiler.passes.pipeline.text import as_pipeline
from compiler.runtime.thunks.select import Selector, inner_thunks
from compiler.schedule.language.replay import replay
from compiler.targets.options import CodeOptions
from compiler.targets.target import by_name
from tests.contracts.test_operators_compiled import NAMES, graph_of_samples

assert compiler.ops.__doc__

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
OPTIONS = [CodeOptions(by_name("x86-64-v3")), CodeOptions(by_name("x86-64-v4"))]


def assert_replayed(graph: Graph, options: CodeOptions) -> int:
    """Replay the schedules of all kernels of a graph, and return their number."""
    n_kernels = 0
    for thunk in inner_thunks(Selector(graph, options).thunks()):
        lowered, made = thunk.lowered, thunk.scheduled
        names = {t for t, value in lowered.operands.items() if value in graph.constants}
        again = replay(made.text, lowered.computation, frozenset(names), options)
        assert again == made, f"{thunk.node.output}: {made.text}"
        n_kernels += 1
    return n_kernels


@pytest.mark.parametrize("name", NAMES)
def test_the_schedules_of_an_operator_are_replayed(name: str) -> None:
    graph, _, _ = graph_of_samples(OPERATORS[name])
    assert_replayed(graph, OPTIONS[len(name) % 2])


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: o.target.name)
@pytest.mark.parametrize("name", ["digits_cnn", "digits_transformer", "digits_lstm"])
def test_the_schedules_of_a_model_are_replayed(name: str, options: CodeOptions) -> None:
    graph = specialize(load(SAMPLES / f"{name}.onnx"), {"image": (3, 1, 8, 8)})
    graph, _ = run_pipeline(graph, as_pipeline("default"))
    assert assert_replayed(graph, options) > 2
