"""Tests that every step of a graph pass has a declared kind, with an executed example."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from compiler.ir.verify import verify
from compiler.passes import PASSES, RULES, Pass, run_pipeline
from compiler.passes.engine.account import UNREAD, complete
from compiler.passes.engine.rule import ROUNDINGS
from compiler.passes.engine.step_kind import StepKind
from compiler.trace import Log
from tests.compiler.passes.networks import NETWORKS
from tests.compiler.passes.numbers import applied, assert_same_results, plain, random_inputs

FOLDER = Path(__file__).resolve().parents[2] / "compiler" / "passes"
KINDS = [(declared, kind) for declared in PASSES.values() for kind in declared.steps]
REWRITING = [(declared, kind) for declared, kind in KINDS if declared.kind == "graph"]


def named(pair: tuple[Pass, StepKind]) -> str:
    return f"{pair[0].name}-{pair[1].name}"


each_kind = pytest.mark.parametrize("pair", KINDS, ids=named)
each_rewrite = pytest.mark.parametrize("pair", REWRITING, ids=named)


@each_kind
def test_the_example_applies_a_step_of_this_kind(pair: tuple[Pass, StepKind]) -> None:
    declared, kind = pair
    before, expected = kind.example_graphs()
    after = declared.run(before, log := Log(), **kind.options)
    verify(after)
    assert plain(after) == plain(expected), f"the graph is\n{plain(after)}"
    assert kind.name in applied(log.steps)


@each_rewrite
def test_the_example_keeps_the_numbers(pair: tuple[Pass, StepKind]) -> None:
    declared, kind = pair
    before, _ = kind.example_graphs()
    after = declared.run(before, **kind.options)
    error = max(declared.error * 8, *(s.error for s in steps_of(pair)), ROUNDINGS)
    assert_same_results(before, after, random_inputs(before), error=error)


def steps_of(pair: tuple[Pass, StepKind]) -> list:
    declared, kind = pair
    declared.run(kind.example_graphs()[0], log := Log(), **kind.options)
    return log.steps


@each_rewrite
def test_the_near_miss_stays_as_it_is(pair: tuple[Pass, StepKind]) -> None:
    declared, kind = pair
    graph = kind.near_miss_graph()
    assert declared.run(graph, log := Log(), **kind.options) is graph
    assert applied(log.steps) == []


@each_kind
def test_a_kind_has_words(pair: tuple[Pass, StepKind]) -> None:
    first = pair[1].words.split("\n", 1)[0]
    assert first.endswith(".")
    assert len(first.split()) <= 17


@pytest.mark.parametrize("declared", PASSES.values(), ids=list(PASSES))
def test_every_pass_declares_its_kinds_once(declared: Pass) -> None:
    names = [kind.name for kind in declared.steps]
    assert len(names) == len(set(names))
    assert bool(names) == (declared.kind != "rules")
    assert UNREAD.name not in names


def test_the_ledger_of_every_network_has_declared_kinds() -> None:
    for network in NETWORKS.values():
        for preset in ("default", "none"):
            _, trace = run_pipeline(network, preset)
            for event in trace.events:
                assert_declared(PASSES[event.name], applied(event.steps))
        for declared in PASSES.values():
            declared.run(network, log := Log())
            assert_declared(declared, applied(log.steps))


def assert_declared(declared: Pass, rules: list[str]) -> None:
    known = {r.name for r in declared.rules} | {k.name for k in declared.steps} | {UNREAD.name}
    assert set(rules) <= known, declared.name


def test_every_written_name_of_a_step_is_declared() -> None:
    known = {kind.name for _, kind in KINDS} | {*RULES}
    written = {name for path in FOLDER.rglob("*.py") for name in names_of_steps(path)}
    assert len(written) > 40
    assert written <= known


def names_of_steps(path: Path) -> Iterator[str]:
    """Yield the names of rules in calls of `applied` and `may` that a module writes as text."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr in ("applied", "may") and node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first.value


def test_an_unread_constant_is_a_step_of_any_pass() -> None:
    before, after = UNREAD.example_graphs()
    (step,) = complete([], before, after)
    assert (step.rule, step.outcome, step.took) == (UNREAD.name, "applied", ("c",))
    kept = UNREAD.near_miss_graph()
    assert complete([], kept, kept) == ()
