"""Tests of the contract of every rule: example, results, description."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import textwrap
from dataclasses import replace

import numpy as np
import pytest

from compiler.ir.constant import Constant
from compiler.ir.graph import Graph
from compiler.ir.operator import OPERATORS
from compiler.ir.verify import verify
from compiler.passes import PASSES, RULES, Rule, rules
from compiler.passes.engine.mismatch import near_miss_reason
from compiler.passes.engine.pattern import placeholders, roots, uniform
from compiler.passes.engine.rewrite import apply_rules
from compiler.trace import Log
from tests.compiler.passes.numbers import (
    applied,
    assert_same_results,
    plain,
    random_inputs,
    special_inputs,
)

each_rule = pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))


def rewritten(rule: Rule, graph: Graph) -> tuple[Graph, Log]:
    log = Log()
    after = apply_rules(graph, [rule], log)
    verify(after)
    return after, log


@each_rule
def test_the_example_holds_in_text(rule: Rule) -> None:
    before, expected = rule.example_graphs()
    after, log = rewritten(rule, before)
    assert plain(after) == plain(expected), f"the graph is\n{plain(after)}"
    assert set(applied(log.steps)) == {rule.name}
    assert all(s.exact == rule.exact for s in log.steps if s.outcome == "applied")


@each_rule
def test_the_example_holds_in_numbers(rule: Rule) -> None:
    before, _ = rule.example_graphs()
    after, _ = rewritten(rule, before)
    for seed in range(3):
        assert_same_results(before, after, random_inputs(before, seed), error=rule.error)
        if rule.exact or not sums_products(before):
            assert_same_results(before, after, special_inputs(before, seed), error=rule.error)


def sums_products(graph: Graph) -> bool:
    """Return whether infinities may be summed, so that another order may lose or keep them.

    The sum of infinity times 2 and infinity times -1 is NaN; infinity times (2 - 1) is not.
    """
    return any(OPERATORS[n.op].kind == "contraction" for n in graph.nodes if n.op in OPERATORS)


@each_rule
def test_the_rule_holds_for_other_constants(rule: Rule) -> None:
    before, _ = rule.example_graphs()
    for seed in range(4):
        other = with_random_constants(before, seed)
        after, _ = rewritten(rule, other)
        assert_same_results(other, after, random_inputs(other, seed), error=rule.error)


def with_random_constants(graph: Graph, seed: int) -> Graph:
    """Replace floating-point constants except single numbers; variances stay positive."""
    rng = np.random.default_rng(seed)
    constants: dict[str, Constant] = {}
    for name, c in graph.constants.items():
        if not c.type.dtype.is_float or uniform(c) is not None:
            constants[name] = c
            continue
        values = rng.normal(size=c.type.static_shape)
        constants[name] = Constant.of(np.abs(values) + 0.5 if name == "v" else values, c.type.dtype)
    return replace(graph, constants=constants)


@each_rule
def test_the_near_miss_stays_as_it_is(rule: Rule) -> None:
    graph = rule.near_miss_graph()
    assert {*roots(rule.pattern)} & {n.op for n in graph.nodes}, (
        "the near miss must contain the pattern's root operator"
    )
    after, log = rewritten(rule, graph)
    assert after is graph, f"the rule must not change its near miss; it made\n{after}"
    assert not applied(log.steps)


@each_rule
def test_the_near_miss_has_a_reason(rule: Rule) -> None:
    because = near_miss_reason(rule)
    _, log = rewritten(rule, rule.near_miss_graph())
    declined = [s.because for s in log.steps if s.outcome == "declined"]
    assert because in declined if declined else because


@each_rule
def test_a_second_application_changes_nothing(rule: Rule) -> None:
    before, _ = rule.example_graphs()
    once, _ = rewritten(rule, before)
    twice, log = rewritten(rule, once)
    assert twice is once
    assert not applied(log.steps)


@each_rule
def test_the_example_would_show_swapped_axes(rule: Rule) -> None:
    """The sizes of larger tensors differ, so that exchanging two of them changes a type."""
    before, _ = rule.example_graphs()
    shapes = [v.type.dims for v in before.inputs if hasattr(v.type, "dims")]
    assert any(len({d for d in s if d != 1}) == len([d for d in s if d != 1]) for s in shapes), (
        f"all sizes of the example must differ; its inputs have the sizes {shapes}"
    )


@each_rule
def test_the_rule_has_words_a_pattern_and_a_place(rule: Rule) -> None:
    assert rule.title.endswith((".", ":")), rule.title
    assert len(rule.title) <= 100
    text = rule.pattern_text
    assert text.startswith(tuple(f"{name}(" for name in roots(rule.pattern)))
    assert all(name in text for name in placeholders(rule.pattern))
    assert rule.source.startswith("passes/")


@each_rule
def test_a_rule_that_only_folds_to_an_operand_is_a_row(rule: Rule) -> None:
    """`folds_to_operand` declares such a rule in less text than a function `return x`."""
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(rule.body)))
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    last = function.body[-1]
    is_docstring = [isinstance(s, ast.Expr) for s in function.body[:-1]]
    returns_operand = isinstance(last, ast.Return) and isinstance(last.value, ast.Name)
    assert not (returns_operand and all(is_docstring))


def test_every_rule_belongs_to_a_pass() -> None:
    for module in pkgutil.walk_packages(rules.__path__, f"{rules.__name__}."):
        importlib.import_module(module.name)
    in_passes = {r.name for p in PASSES.values() for r in p.rules}
    assert in_passes == set(RULES), "a rule belongs to no pass: see docs/adding-a-rule.md"
