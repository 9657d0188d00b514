"""Tests of the reasons why rules and passes leave their near misses unchanged."""

from __future__ import annotations

import pytest

from compiler.passes import PASSES
from compiler.passes.engine.mismatch import kind_reason, near_miss_reason
from compiler.passes.engine.rule import RULES


@pytest.mark.parametrize(
    ("rule", "because"),
    [
        ("squeeze_into_reduce_sum", "the reduction is over axes [1, 2], but the squeeze over [2]"),
        ("merge_transposes", "m is a result of reshape, not of transpose"),
        ("negation_into_conv", "w is not a constant"),
        ("multiply_by_minus_one", "the elements of c are not all -1"),
        ("drop_concat_of_one", "y is an operand that the pattern does not have"),
        ("positive_below_zero", "e >= 0 is not known"),
        ("less_itself", "two values differ that are one value in the pattern"),
    ],
)
def test_a_near_miss_has_the_reason_of_its_step_or_the_first_difference(
    rule: str, because: str
) -> None:
    assert near_miss_reason(RULES[rule]) == because


def test_a_near_miss_of_a_pass_has_the_recorded_reason() -> None:
    fuse = PASSES["fuse"]
    reasons = {kind.name: kind_reason(fuse, kind) for kind in fuse.steps}
    assert "one contraction or reduction" in reasons["fuse"]
    assert reasons["copy_cheap_producer"] == "p is also used by r, so it has to be stored"
