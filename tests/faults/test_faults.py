"""Tests that `check` finds and `bisect` names every seeded fault, and nothing without it."""

from __future__ import annotations

from collections import Counter

import pytest

from compiler.bisect.probe import Settings
from compiler.bisect.run import bisect
from compiler.bisect.search import Answer
from compiler.check.rewrites import Rewrites, judge_rewrites
from compiler.check.rounds import budget_of, make_rounds
from compiler.passes.pipeline.run import PassBug, run_pipeline
from compiler.runtime.compare import TOLERANCE
from tests.faults.fault import Fault
from tests.faults.faults import FAULTS
from tests.faults.pairs import PAIRS

IDS = [f.name.replace(" ", "_") for f in FAULTS]
each_fault = pytest.mark.parametrize("fault", FAULTS, ids=IDS)


def test_there_are_faults_of_many_kinds() -> None:
    assert len(FAULTS) >= 60
    assert len(PAIRS) >= 10
    assert len({f.name for f in FAULTS}) == len(FAULTS)
    assert len(Counter(f.kind for f in FAULTS)) >= 12


def found_by_check(fault: Fault) -> bool:
    """Return whether `check` finds a fault, by passes on all inputs and by single rewrites."""
    graph, rewrites = fault.graph, Rewrites()
    try:
        run_pipeline(graph, fault.pipeline, watch=rewrites.watch, progress=rewrites.progress)
    except PassBug:
        return True
    rounds, events = make_rounds(graph), rewrites.events
    for i, event in enumerate(events):
        budget = budget_of(events[: i + 1], TOLERANCE)
        if event.changed and any(r.objection(event.after, budget)[1].objection for r in rounds):
            return True
    return any(not j.ok for j in judge_rewrites(rewrites, [r.feeds for r in rounds[:1]]))


def answer(fault: Fault) -> Answer:
    return bisect(fault.graph, Settings(fault.pipeline), reduce_seconds=0).answer


@each_fault
def test_check_finds_it_and_bisect_names_it(fault: Fault) -> None:
    with fault.seeded():
        assert found_by_check(fault)
        found = answer(fault)
    assert found.broken
    assert found.stable
    assert set(found.rules) == set(fault.names), found.detail
    assert not found.passes or found.kind == "crash"


@each_fault
def test_without_the_fault_nothing_is_found(fault: Fault) -> None:
    assert not found_by_check(fault)
    assert not answer(fault).broken


@pytest.mark.parametrize("fault", PAIRS, ids=lambda f: f.name.replace(" ", "_"))
def test_each_rule_of_a_pair_alone_keeps_the_numbers(fault: Fault) -> None:
    graph = fault.graph
    rounds = make_rounds(graph)
    with fault.seeded():
        for name in fault.names:
            after, _ = run_pipeline(
                graph, fault.pipeline, gate=lambda decision, only=name: decision.rule == only
            )
            assert not any(r.objection(after, TOLERANCE)[1].objection for r in rounds)
