"""Delta debugging: a minimal sublist that still fails.

Source: Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input, 2002: ddmin.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T", bound=Hashable)
Ask = Callable[[Sequence[T]], bool]
"""A predicate: whether a sublist fails."""


def ddmin(items: Sequence[T], fails: Ask[T]) -> list[T]:
    """Return a minimal failing sublist: it passes if any single item is removed.

    The full list must fail. The order of items is preserved, and no sublist is tested twice.

    >>> ddmin(range(8), lambda part: {2, 5} <= set(part))
    [2, 5]
    """
    ask = remembering(fails)
    if ask(()):
        return []
    current, n_pieces = list(items), 2
    while len(current) >= 2:
        pieces = _split(current, n_pieces)
        smaller = next((p for p in pieces if ask(p)), None)
        if smaller is not None:
            current, n_pieces = smaller, 2
            continue
        rests = [[x for q in pieces if q is not p for x in q] for p in pieces]
        rest = next((r for r in rests if ask(r)), None) if n_pieces > 2 else None
        if rest is not None:
            current, n_pieces = rest, max(n_pieces - 1, 2)
        elif n_pieces < len(current):
            n_pieces = min(2 * n_pieces, len(current))
        else:
            break
    return current


def remembering(fails: Ask[T]) -> Ask[T]:
    """Memoise the predicate."""
    known: dict[frozenset[T], bool] = {}

    def ask(part: Sequence[T]) -> bool:
        key = frozenset(part)
        if key not in known:
            known[key] = fails(part)
        return known[key]

    return ask


def first_failing(n: int, fails: Callable[[int], bool]) -> int:
    """Return a failing number whose predecessor passes; 0 must pass and `n` must fail.

    >>> first_failing(100, lambda k: k >= 37)
    37
    """
    low, high = 0, n
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fails(middle) else (middle, high)
    return high


def _split(items: list[T], n: int) -> list[list[T]]:
    """Split a list into n sublists of nearly equal length."""
    edges = [round(i * len(items) / n) for i in range(n + 1)]
    return [items[a:b] for a, b in pairwise(edges) if b > a]
