"""The policy that the document builds keeps the contract of all others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from compiler.ir.graph import Graph
from compiler.passes.fusion.policy import Policy
from tests.compiler.passes.fusion import test_policies as contract
from tests.compiler.passes.networks import NETWORKS

PAGE = Path(__file__).resolve().parents[4] / "docs" / "adding-a-fusion-policy.md"


@pytest.fixture
def only_readers() -> Policy:
    (block,) = re.findall(r"(?ms)^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"))
    made: dict[str, Any] = {"__name__": "compiler.passes.fusion.of_a_document"}
    exec(compile(block, str(PAGE), "exec"), made)
    declared = made["only_readers"]
    assert isinstance(declared, Policy)
    return declared


@pytest.mark.parametrize(
    "check",
    [
        contract.test_the_example_holds_in_text_and_numbers,
        contract.test_a_policy_gives_the_same_groups_twice,
    ],
    ids=lambda check: check.__name__,
)
def test_the_policy_of_the_document_keeps_the_contract(check: Any, only_readers: Policy) -> None:
    check(only_readers)


@pytest.mark.parametrize("network", NETWORKS.values(), ids=list(NETWORKS))
@pytest.mark.parametrize(
    "check",
    [
        contract.test_networks_keep_their_numbers,
        contract.test_a_second_run_changes_nothing,
        contract.test_a_policy_that_is_refused_everything_changes_nothing,
        contract.test_every_pair_that_is_not_fused_has_one_reason,
    ],
    ids=lambda check: check.__name__,
)
def test_the_policy_of_the_document_works_on_networks(
    check: Any, network: Graph, only_readers: Policy
) -> None:
    check(only_readers, network)
