"""Tests of the contract of every pass, alone and in any order with other passes."""

from __future__ import annotations

import random
from typing import get_args

import pytest

from compiler.ir.graph import Graph
from compiler.ir.verify import verify
from compiler.passes import PASSES, Pass, Pipeline, parse_pipeline, presets, run_pipeline
from compiler.passes.engine.declaration import Fact, graph_pass
from compiler.passes.engine.rule import ROUNDINGS
from compiler.passes.pipeline.pipeline import line
from compiler.trace import Log
from tests.compiler.passes.networks import NETWORKS
from tests.compiler.passes.numbers import (
    applied,
    assert_same_results,
    graph,
    plain,
    random_inputs,
)

each_pass = pytest.mark.parametrize("declared", PASSES.values(), ids=list(PASSES))
each_network = pytest.mark.parametrize("network", NETWORKS.values(), ids=list(NETWORKS))


def near(*passes: Pass) -> float:
    """Return the permitted change of results, by roundings and by errors that passes declare."""
    return max(2e-5, *(8 * p.error for p in passes))


@each_pass
def test_the_example_holds_in_text(declared: Pass) -> None:
    before, expected = declared.example_graphs()
    after = declared.run(before, **(declared.example_options or {}))
    verify(after)
    if declared.kind == "rules":
        # The example shows one of the rules; other rules may apply too.
        assert after is not before
    else:
        assert plain(after) == plain(expected), f"the graph is\n{plain(after)}"


@each_pass
def test_the_example_holds_in_numbers(declared: Pass) -> None:
    before, _ = declared.example_graphs()
    after = declared.run(before, **(declared.example_options or {}))
    for seed in range(3):
        error = near(declared) if declared.error else ROUNDINGS
        assert_same_results(before, after, random_inputs(before, seed), error=error)


@each_pass
def test_a_graph_without_work_comes_back_as_it_is(declared: Pass) -> None:
    nothing_to_do = graph("graph g(x: f32[2,3]) { return x }")
    assert declared.run(nothing_to_do) is nothing_to_do


@each_pass
@each_network
def test_a_second_run_changes_nothing(declared: Pass, network: Graph) -> None:
    once = declared.run(network)
    log = Log()
    twice = declared.run(once, log)
    if declared.idempotent:
        assert twice is once
        assert declared.kind == "analysis" or not applied(log.steps)


@each_pass
@each_network
def test_a_pass_alone_keeps_the_numbers(declared: Pass, network: Graph) -> None:
    after = declared.run(network)
    verify(after)
    assert_same_results(network, after, random_inputs(network), error=near(declared))


@each_pass
@each_network
def test_a_pass_that_is_refused_everything_changes_nothing(declared: Pass, network: Graph) -> None:
    log = Log(gate=lambda decision: False)
    assert declared.run(network, log) is network, "ask `log.may` before each rewrite"
    assert declared.kind == "analysis" or not applied(log.steps)


@each_pass
def test_the_example_is_left_alone_when_it_is_refused(declared: Pass) -> None:
    before, _ = declared.example_graphs()
    options = declared.example_options or {}
    after = declared.run(before, Log(gate=lambda decision: False), **options)
    assert after is before, "ask `log.may` before each rewrite"


@each_pass
@each_network
def test_names_of_results_and_inputs_stay(declared: Pass, network: Graph) -> None:
    after = declared.run(network)
    assert after.inputs == network.inputs
    assert [(r.name) for r in after.results] == [r.name for r in network.results]


@each_network
@pytest.mark.parametrize("seed", range(6))
def test_any_passes_in_any_order_keep_the_numbers(network: Graph, seed: int) -> None:
    rng = random.Random(seed)
    names = rng.choices(list(PASSES), k=rng.randint(3, 9))
    after, trace = run_pipeline(network, [line(n) for n in names])
    assert [e.name for e in trace.events] == names
    error = near(*(PASSES[n] for n in names))
    assert_same_results(network, after, random_inputs(network, seed), error=error)


@each_network
@pytest.mark.parametrize("name", list(presets()))
def test_every_preset_keeps_the_numbers(network: Graph, name: str) -> None:
    after, _ = run_pipeline(network, name)
    assert_same_results(network, after, random_inputs(network), error=2e-5)


@each_network
def test_every_node_is_an_origin_or_was_taken_by_a_step(network: Graph) -> None:
    """So the page can show the fate of every selected node of the model."""
    after, trace = run_pipeline(network, "default")
    found = {o for n in after.nodes for o in n.origins}
    found |= {o for c in after.constants.values() for o in c.origins}
    found |= {t for e in trace.events for s in e.steps if s.outcome == "applied" for t in s.took}
    assert {n.name for n in network.nodes} <= found


@each_pass
def test_a_pass_has_words_and_options_with_checked_defaults(declared: Pass) -> None:
    assert declared.title.endswith(".")
    assert declared.source.startswith("passes/")
    for option in declared.options.values():
        assert option.check(declared.name, option.default) == option.default


@pytest.mark.parametrize("preset", presets().values(), ids=list(presets()))
def test_a_preset_has_a_reason_per_line_and_a_text_form(preset: Pipeline) -> None:
    assert preset.words
    assert all(x.because for x in preset.lines)
    assert str(parse_pipeline(str(preset))) == str(preset)


def test_the_default_pipeline_is_in_a_good_order() -> None:
    assert presets()["default"].advice() == []


def test_each_fact_is_one_that_a_pass_needs_or_gives() -> None:
    assert {f for p in PASSES.values() for f in (*p.needs, *p.gives)} == {*get_args(Fact)}


def test_a_pass_cannot_need_an_unknown_fact() -> None:
    def misspelt(graph: Graph, log: Log) -> Graph:
        """Change nothing."""
        return graph

    with pytest.raises(AssertionError, match=r"misspelt: no fact \['constant'\]; facts: "):
        graph_pass(example="", needs=["constant"])(misspelt)  # type: ignore[list-item]
    assert "misspelt" not in PASSES
