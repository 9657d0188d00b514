"""A sample of the sweep: every mutant of these rules that puts something else is found."""

from __future__ import annotations

from collections import Counter

import pytest

from compiler.passes import RULES
from tests.faults.sweep import functions_of_rules, sweep

SAMPLE = (
    "merge_transposes",
    "merge_slices",
    "merge_clips",
    "slice_inside_pad",
    "transpose_into_matmul_left",
    "scale_before_matmul",
    "pad_into_conv",
    "leaky_relu_of_max",
    "mean_of_sum",
    "drop_slice_of_all",
    "negation_into_conv",
)


@pytest.mark.parametrize("name", SAMPLE)
def test_mutants_that_put_something_else_are_found(name: str) -> None:
    outcomes = list(sweep([RULES[name]]))
    fates = Counter(x.fate for x in outcomes)
    assert fates["found"] > 0
    survivors = [x.mutant.what for x in outcomes if x.fate == "survives"]
    # What a reshape or slice is given in other words may mean the same.
    assert not [s for s in survivors if "s != 1" not in s and "2 for 1" not in s]


def test_mutants_put_everything_back() -> None:
    before = {id(f): f.__code__ for fns in functions_of_rules().values() for f in fns}
    list(sweep([RULES["merge_transposes"]]))
    after = {id(f): f.__code__ for fns in functions_of_rules().values() for f in fns}
    assert before == after
