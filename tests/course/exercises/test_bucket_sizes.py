"""Tests of the least padding of buckets."""

from __future__ import annotations

from itertools import combinations

import pytest

from course.exercises.bucket_sizes import Requests, least_padding, padding, random_requests


@pytest.mark.parametrize("seed", range(6))
def test_the_least_padding_is_that_of_an_exhaustive_search(seed: int) -> None:
    lengths = random_requests(seed).lengths[:9]
    others = sorted({*lengths} - {max(lengths)})
    for most in (1, 2, 3, 12):
        choices = combinations(others, min(most - 1, len(others)))
        least = min(padding(lengths, [*chosen, max(lengths)]) for chosen in choices)
        assert least_padding(Requests(lengths, most)) == least


def test_each_run_uses_the_smallest_bucket_that_is_long_enough() -> None:
    assert padding([3, 5, 6, 9], [10, 6]) == 3 + 1 + 0 + 1
