"""A line diff that is quick on graph texts, where nearly every line is unique.

Lines that occur once on both sides are anchors; the longest run of anchors in the same order stays,
and what lies between two anchors is compared the same way (the patience diff of Bram Cohen).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence

Row = tuple[str, int | None, int | None]
"""(mark, old line, new line); mark is " ", "-" or "+"."""


def diff_rows(old: Sequence[str], new: Sequence[str]) -> list[Row]:
    """Every line of both sides once, in reading order: removed lines before added ones."""
    rows: list[Row] = []
    at_old = at_new = 0
    for i, j in [*_pairs(old, new), (len(old), len(new))]:
        rows += [("-", k, None) for k in range(at_old, i)]
        rows += [("+", None, k) for k in range(at_new, j)]
        if i < len(old) and j < len(new):
            rows.append((" ", i, j))
        at_old, at_new = i + 1, j + 1
    return rows


def folded(rows: Sequence[Row], context: int) -> Iterator[Row]:
    """The rows with long runs of equal lines left out: ("…", how many, None) stands for them."""
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
    """Equal lines that stay, in order on both sides."""
    found: list[tuple[int, int]] = []
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
            continue
        found += anchors
        for i, j in [*anchors, (old_to, new_to)]:
            if old_from < i and new_from < j:
                pending.append((old_from, i, new_from, j))
            old_from, new_from = i + 1, j + 1
    return sorted(found)


def _anchors(
    old: Sequence[str], new: Sequence[str], old_from: int, old_to: int, new_from: int, new_to: int
) -> list[tuple[int, int]]:
    """Lines that are unique on both sides of a range: the longest chain of them in order."""
    old_count, new_count = Counter(old[old_from:old_to]), Counter(new[new_from:new_to])
    place = {new[j]: j for j in range(new_from, new_to)}
    shared = [
        (i, place[old[i]])
        for i in range(old_from, old_to)
        if old_count[old[i]] == 1 and new_count.get(old[i]) == 1
    ]
    return _longest_rising(shared)


def _longest_rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest subsequence whose second numbers rise (patience sorting)."""
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
