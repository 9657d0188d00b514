from __future__ import annotations

import doctest
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from compiler.bisect import ddmin as module
from compiler.bisect.ddmin import ddmin, first_failing


def test_its_examples_hold() -> None:
    assert doctest.testmod(module).failed == 0


@given(st.sets(st.integers(0, 40), min_size=1, max_size=5), st.integers(41, 60))
def test_it_finds_what_is_needed_and_nothing_else(needed: set[int], n: int) -> None:
    assert set(ddmin(range(n), lambda part: needed <= set(part))) == needed


def test_each_item_of_the_answer_is_needed_though_there_are_several_answers() -> None:
    def fails(part: Sequence[int]) -> bool:
        return {1, 7} <= set(part) or {2, 3, 9} <= set(part)

    found = ddmin(range(12), fails)
    assert fails(found)
    assert not any(fails([x for x in found if x != y]) for y in found)


def test_no_part_is_asked_about_twice() -> None:
    asked: list[frozenset[int]] = []

    def fails(part: Sequence[int]) -> bool:
        asked.append(frozenset(part))
        return {3, 11} <= set(part)

    ddmin(range(16), fails)
    assert len(asked) == len(set(asked))


def test_nothing_is_the_answer_where_it_fails_anyway() -> None:
    assert ddmin([1, 2, 3], lambda part: True) == []


def test_a_prefix_is_found_though_failing_is_not_monotone() -> None:
    fails = {3, 4, 8, 9, 10}
    k = first_failing(10, lambda k: k in fails)
    assert k in fails
    assert k - 1 not in fails
