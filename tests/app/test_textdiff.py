"""Tests that a line diff reproduces both texts and folds equal lines."""

from __future__ import annotations

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from app.textdiff import diff_rows, folded

lines = st.lists(st.sampled_from("abcdefg"), max_size=30)


@given(lines, lines)
@settings(max_examples=300, deadline=None)
def test_the_rows_hold_both_texts_in_order(old, new):
    rows = diff_rows(old, new)
    assert [i for mark, i, _ in rows if mark != "+"] == list(range(len(old)))
    assert [j for mark, _, j in rows if mark != "-"] == list(range(len(new)))
    assert all(old[i] == new[j] for mark, i, j in rows if mark == " ")


@given(lines)
def test_equal_texts_have_no_changed_row(text):
    assert all(mark == " " for mark, _, _ in diff_rows(text, text))


def test_unique_lines_that_stay_are_found_around_changes():
    old = ["head", "a", "b", "c", "d", "tail"]
    new = ["head", "a", "x", "c", "y", "d", "tail"]
    assert diff_rows(old, new) == [
        (" ", 0, 0), (" ", 1, 1), ("-", 2, None), ("+", None, 2), (" ", 3, 3), ("+", None, 4),
        (" ", 4, 5), (" ", 5, 6),
    ]  # fmt: skip


def test_lines_that_repeat_themselves_stay_where_they_can():
    old = ["load", "fma", "load", "fma", "store"]
    new = ["load", "fma", "fma", "load", "fma", "store", "store"]
    marks = [mark for mark, _, _ in diff_rows(["a", *old, "b"], ["c", *new, "d"])]
    assert (marks.count(" "), marks.count("-"), marks.count("+")) == (5, 2, 4)


def test_of_moved_lines_the_longer_run_stays():
    rows = diff_rows(["m", "a", "b", "c"], ["a", "b", "c", "m"])
    assert [mark for mark, _, _ in rows] == ["-", " ", " ", " ", "+"]


@given(lines, lines, st.integers(0, 4))
@settings(deadline=None)
def test_folding_hides_equal_lines_only_and_counts_them(old, new, context):
    rows = diff_rows(old, new)
    shown = list(folded(rows, context))
    assert sum(r[1] if r[0] == "…" else 1 for r in shown) == len(rows)
    assert [r for r in shown if r[0] in "+-"] == [r for r in rows if r[0] != " "]


def test_context_lines_stay_on_both_sides_of_a_change():
    old = [str(i) for i in range(20)]
    new = [*old[:10], "new", *old[10:]]
    shown = list(folded(diff_rows(old, new), 2))
    assert [r[0] for r in shown] == ["…", " ", " ", "+", " ", " ", "…"]
    assert shown[0] == ("…", 8, None)


def test_thousands_of_lines_are_no_trouble():
    old = [f"line {i}" for i in range(20_000)]
    new = [f"line {i}" if i % 3 else f"other {i}" for i in range(20_000)]
    start = time.process_time()
    rows = diff_rows(old, new)
    # Two thirds of the lines are equal, each block with its own anchor: the time is far from
    # quadratic.
    assert sum(r[0] == " " for r in rows) == sum(bool(i % 3) for i in range(20_000))
    assert time.process_time() - start < 20.0
