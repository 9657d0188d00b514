"""Tests of the detection of repeated blocks, on hand-written sequences."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from app.grouping.repeats import LEAST_IN_BLOCK, Run, Sequenced, runs


def sequence(text: str, *edges: tuple[int, int]) -> Sequenced:
    """Return nodes in a sequence, one per letter (its operator), with additional edges."""
    sources = [{i - 1} if i else set() for i in range(len(text))]
    for source, target in edges:
        sources[target].add(source)
    return Sequenced([ord(c) for c in text], [1] * len(text), [tuple(sorted(s)) for s in sources])


def test_blocks_in_a_row_are_one_run():
    assert runs(sequence("xx" + "abcd" * 3 + "yz")) == [Run(2, 4, 3)]


def test_what_repeats_too_little_is_no_run():
    assert runs(sequence("abab" + "xyz" * 5)) == []
    assert runs(sequence("abcdabcd")) == []
    assert runs(sequence("abcdefghij" * 2)) == [Run(0, 10, 2)]


def test_blocks_begin_where_only_one_value_crosses():
    # s (a b c +)(a b c +)(a b c +): each sum reads the input of its block, four nodes back.
    skips = [(4 * k, 4 * k + 4) for k in range(3)]
    assert runs(sequence("s" + "abc+" * 3 + "ab", *skips)) == [Run(1, 4, 3)]
    # The signatures before the first block are equal too: only edges tell where a block begins.
    assert runs(sequence("bc+" + "abc+" * 3, *[(2 + 4 * k, 6 + 4 * k) for k in range(3)])) == [
        Run(3, 4, 3)
    ]


def test_equal_signs_with_other_edges_are_other_blocks():
    # In the third and fourth block, d also reads a.
    other = sequence("abcd" * 6, (8, 11), (12, 15))
    assert runs(other) == []
    more = sequence("abcd" * 8, (24, 27), (28, 31))
    assert runs(more) == [Run(0, 4, 6)]


def test_runs_beside_each_other_are_all_found():
    assert runs(sequence("abcd" * 4 + "x" + "pqrst" * 3)) == [Run(0, 4, 4), Run(17, 5, 3)]


def test_the_smallest_block_that_repeats_is_the_block():
    assert runs(sequence("abcd" * 12)) == [Run(0, 4, 12)]


@given(st.text("abc", max_size=60), st.data())
@settings(deadline=None)
def test_runs_are_apart_and_really_equal(text, data):
    n = len(text)
    pairs = st.tuples(st.integers(0, max(n - 1, 0)), st.integers(0, max(n - 1, 0)))
    edges = data.draw(st.lists(pairs, max_size=20)) if n else []
    items = sequence(text, *[(a, b) for a, b in edges if a < b])
    end = 0
    for run in runs(items):
        assert run.start >= end
        assert run.times >= 2
        assert run.period >= LEAST_IN_BLOCK
        assert len({items.shape(block) for block in run.blocks}) == 1
        assert len({text[block.start : block.stop] for block in run.blocks}) == 1
        end = run.end
    assert end <= n
