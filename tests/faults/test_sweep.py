"""Tests on a sample of the sweep that every mutant with another replacement is found."""

from __future__ import annotations

from collections.abc import Iterator
from multiprocessing import get_context
from multiprocessing.pool import Pool

import pytest

from tests.faults.sweep import sampled

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
LIMIT_S = 300
"""Timeout for a test whose mutant does not terminate."""


@pytest.fixture(scope="module")
def child() -> Iterator[Pool]:
    """A process that runs the mutants; it ends with these tests, even if it hangs."""
    with get_context("spawn").Pool(1) as pool:
        yield pool


@pytest.mark.parametrize("name", SAMPLE)
def test_mutants_that_put_something_else_are_found(child: Pool, name: str) -> None:
    n_found, survivors, is_put_back = child.apply_async(sampled, (name,)).get(timeout=LIMIT_S)
    assert n_found > 0
    # Other parameters of a reshape or slice may have the same effect.
    assert not [s for s in survivors if "s != 1" not in s and "2 for 1" not in s]
    assert is_put_back
