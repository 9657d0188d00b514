"""The rule and the pass that the documents build keep the contracts of all others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from compiler.passes import PASSES, RULES, Pass, Rule, parse_pipeline
from compiler.trace import Log
from tests.compiler.passes.networks import NETWORKS
from tests.compiler.passes.numbers import (
    assert_same_results,
    declined,
    graph,
    random_inputs,
)
from tests.contracts import test_passes as pass_contract
from tests.contracts import test_rules as rule_contract

DOCUMENTS = Path(__file__).resolve().parents[3] / "docs"


def run_block(page: str) -> None:
    """Execute the one Python block of a page."""
    path = DOCUMENTS / page
    (block,) = re.findall(r"(?ms)^```python\n(.*?)^```", path.read_text(encoding="utf-8"))
    # The annotations are looked at, so the block needs a namespace that lasts.
    exec(compile(block, str(path), "exec"), {"__name__": "compiler.passes.of_a_document"})


@pytest.fixture
def multiply_right_first() -> Rule:
    run_block("adding-a-rule.md")
    return RULES.pop("multiply_right_first")


@pytest.fixture
def constants_right() -> Iterator[Pass]:
    run_block("adding-a-pass.md")
    yield PASSES["constants_right"]
    del PASSES["constants_right"]


@pytest.mark.parametrize(
    "check",
    [
        rule_contract.test_the_example_holds_in_text,
        rule_contract.test_the_example_holds_in_numbers,
        rule_contract.test_the_rule_holds_for_other_constants,
        rule_contract.test_a_second_application_changes_nothing,
        rule_contract.test_the_example_would_show_swapped_axes,
    ],
    ids=lambda check: check.__name__,
)
def test_the_rule_of_the_document_keeps_the_contract(check, multiply_right_first: Rule) -> None:
    check(multiply_right_first)


def test_the_rule_of_the_document_skips_where_the_order_is_right(
    multiply_right_first: Rule,
) -> None:
    g = graph(
        """
        graph g(a: f32[1,5], b: f32[5,6], c: f32[6,4]) {
          p: f32[1,6] = matmul(a, b)
          y: f32[1,4] = matmul(p, c)
          return y
        }
        """
    )
    after, log = rule_contract.rewritten(multiply_right_first, g)
    assert after is g
    assert declined(log.steps, multiply_right_first.name) == [
        "54 multiplications from the left, 140 from the right"
    ]


@pytest.mark.parametrize(
    "check",
    [
        pass_contract.test_the_example_holds_in_text,
        pass_contract.test_the_example_holds_in_numbers,
        pass_contract.test_a_graph_without_work_comes_back_as_it_is,
    ],
    ids=lambda check: check.__name__,
)
def test_the_pass_of_the_document_keeps_the_contract(check, constants_right: Pass) -> None:
    check(constants_right)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_pass_of_the_document_works_on_networks(name: str, constants_right: Pass) -> None:
    pass_contract.test_a_second_run_changes_nothing(constants_right, NETWORKS[name])
    pass_contract.test_a_pass_alone_keeps_the_numbers(constants_right, NETWORKS[name])


def test_the_pass_of_the_document_has_an_option_in_pipelines(constants_right: Pass) -> None:
    (only,) = parse_pipeline("constants_right{also_scalars=false}").lines
    g = graph(
        """
        graph g(x: f32[2,3]) {
          const one: f32[] = literal(1.5)
          const row: f32[3] = literal(1.0,2.0,3.0)
          a: f32[2,3] = mul(one, x)
          b: f32[2,3] = add(row, a)
          return b
        }
        """
    )
    after = constants_right.run(g, Log(), **only.options)
    assert [n.inputs for n in after.nodes] == [("one", "x"), ("a", "row")]
    assert_same_results(g, after, random_inputs(g), error=0)
