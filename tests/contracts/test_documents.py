"""What the documents show in code is executed, so that it stays true."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import compiler.ops
from compiler.ir.operator import ONNX, OPERATORS, Operator
from tests.contracts import test_operators as contract

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = REPOSITORY / "docs" / "adding-an-operator.md"

assert compiler.ops.__doc__


def blocks(path: Path, language: str) -> list[str]:
    text = path.read_text(encoding="utf-8")
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```", text)


@pytest.fixture(params=["distances", "streaks"])
def shown(request: pytest.FixtureRequest) -> Iterator[Operator]:
    """An operator of docs/adding-an-operator.md, declared for the time of one test."""
    before, imported_before = dict(OPERATORS), dict(ONNX)
    (block,) = (b for b in blocks(PAGE, "python") if f"def {request.param}(" in b)
    exec(compile(block, str(PAGE), "exec"), {"__name__": request.param})
    (name,) = OPERATORS.keys() - before.keys()
    yield OPERATORS[name]
    for registry, kept in ((OPERATORS, before), (ONNX, imported_before)):
        registry.clear()
        registry.update(kept)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "check",
    [
        contract.test_no_facet_is_missing,
        contract.test_samples_are_distinct_and_do_not_all_have_one_element,
        contract.test_the_type_rule_gives_the_type_of_the_reference,
        contract.test_cost_is_counted_for_every_sample,
        contract.test_the_lowering_computes_the_reference,
    ],
    ids=lambda check: check.__name__,
)
def test_the_operators_of_the_document_keep_the_contract(check, shown: Operator) -> None:
    check(shown)


@pytest.mark.parametrize("shown", ["distances"], indirect=True)
def test_the_operator_of_the_document_computes_distances(shown: Operator) -> None:
    assert shown.reference_fn is not None
    x, y = np.array([[0.0, 0.0], [3.0, 1.0]]), np.array([[3.0, 4.0]])
    np.testing.assert_array_equal(shown.reference_fn(x, y), [[25.0], [9.0]])
