"""A line diff that is fast on graph texts, where nearly every line is unique.

This is the patience diff of Bram Cohen: lines that are unique on both sides are anchors. The
longest sequence of anchors in the same order is taken as equal, and the ranges between anchors are
compared recursively. In short ranges without anchors, as in repeated code, the longest common
subsequence is taken as equal.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

Mark = Literal[" ", "-", "+", "…"]
Row = tuple[Mark, int | None, int | None]
"""A row (mark, old line, new line); the mark … stands for a run of folded lines."""

_MOST_PAIRS = 40_000
"""The longest common subsequence is computed for ranges with at most this number of line pairs."""
_MOST_PAIRS_IN_ALL = 4_000_000


def diff_rows(old: Sequence[str], new: Sequence[str]) -> list[Row]:
    """Return every line of the old and new text once, in reading order: removed before added
    lines."""
    rows: list[Row] = []
    at_old = at_new = 0
    for i, j in [*_pairs(old, new), (len(old), len(new))]:
        rows.extend(("-", k, None) for k in range(at_old, i))
        rows.extend(("+", None, k) for k in range(at_new, j))
        if i < len(old) and j < len(new):
            rows.append((" ", i, j))
        at_old, at_new = i + 1, j + 1
    return rows


def folded(rows: Sequence[Row], context: int) -> Iterator[Row]:
    """Fold long runs of equal lines into a row ("…", count, None)."""
    near = [False] * len(rows)
    last = -context - 1
    for i, row in enumerate(rows):
        last = i if row[0] != " " else last
        near[i] = i - last <= context
    last = len(rows) + context + 1
    for i in range(len(rows) - 1, -1, -1):
        last = i if rows[i][0] != " " else last
        near[i] = near[i] or last - i <= context
    hidden = 0
    for row, shown in zip(rows, near, strict=True):
        if not shown:
            hidden += 1
            continue
        if hidden:
            yield ("…", hidden, None)
            hidden = 0
        yield row
    if hidden:
        yield ("…", hidden, None)


def _pairs(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return the pairs of lines that the diff shows as equal, in order on both sides."""
    found: list[tuple[int, int]] = []
    n_left = _MOST_PAIRS_IN_ALL
    pending = [(0, len(old), 0, len(new))]
    while pending:
        old_from, old_to, new_from, new_to = pending.pop()
        while old_from < old_to and new_from < new_to and old[old_from] == new[new_from]:
            found.append((old_from, new_from))
            old_from, new_from = old_from + 1, new_from + 1
        while old_from < old_to and new_from < new_to and old[old_to - 1] == new[new_to - 1]:
            old_to, new_to = old_to - 1, new_to - 1
            found.append((old_to, new_to))
        anchors = _anchors(old, new, old_from, old_to, new_from, new_to)
        if not anchors:
            n_pairs = (old_to - old_from) * (new_to - new_from)
            if n_pairs <= min(_MOST_PAIRS, n_left):
                n_left -= n_pairs
                common = _longest_common(old[old_from:old_to], new[new_from:new_to])
                found += [(old_from + i, new_from + j) for i, j in common]
            continue
        found += anchors
        for i, j in [*anchors, (old_to, new_to)]:
            if old_from < i and new_from < j:
                pending.append((old_from, i, new_from, j))
            old_from, new_from = i + 1, j + 1
    return sorted(found)


def _longest_common(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return the longest common subsequence of two short texts, by dynamic programming."""
    longest = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in range(len(old) - 1, -1, -1):
        row, below = longest[i], longest[i + 1]
        for j in range(len(new) - 1, -1, -1):
            row[j] = below[j + 1] + 1 if old[i] == new[j] else max(below[j], row[j + 1])
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < len(old) and j < len(new):
        if old[i] == new[j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif longest[i + 1][j] >= longest[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs


def _anchors(
    old: Sequence[str], new: Sequence[str], old_from: int, old_to: int, new_from: int, new_to: int
) -> list[tuple[int, int]]:
    """Return the longest sequence of lines that are unique on both sides and in the same order."""
    old_count, new_count = Counter(old[old_from:old_to]), Counter(new[new_from:new_to])
    place = {new[j]: j for j in range(new_from, new_to)}
    shared = [
        (i, place[old[i]])
        for i in range(old_from, old_to)
        if old_count[old[i]] == 1 and new_count.get(old[i]) == 1
    ]
    return _longest_rising(shared)


def _longest_rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest subsequence of pairs with increasing second numbers, by patience
    sorting."""
    tops: list[int] = []
    top_at: list[int] = []
    before: list[int] = []
    for k, (_, j) in enumerate(pairs):
        pile = bisect_left(tops, j)
        before.append(top_at[pile - 1] if pile else -1)
        if pile == len(tops):
            tops.append(j)
            top_at.append(k)
        else:
            tops[pile], top_at[pile] = j, k
    chain: list[tuple[int, int]] = []
    k = top_at[-1] if top_at else -1
    while k >= 0:
        chain.append(pairs[k])
        k = before[k]
    return chain[::-1]
