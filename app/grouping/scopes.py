"""The scopes that a name of a node tells: /encoder/layer.0/attn/MatMul lies in three."""

from __future__ import annotations

_DEEPEST = 32
"""Scopes further inside are not told apart: no drawing has more boxes around each other."""


def scopes_of(name: str) -> tuple[str, ...]:
    """The scopes around a node, outermost first; none for a name that tells of none.

    Dots count where there are no slashes, unless the last part is a number: `p2o.Add.6` is a
    counter behind an operator.
    """
    if "/" in name:
        return tuple(part for part in name.split("/")[:-1] if part)[:_DEEPEST]
    *scopes, last = name.split(".")
    return () if last.isdigit() else tuple(part for part in scopes if part)[:_DEEPEST]


def common(paths: list[tuple[str, ...]]) -> tuple[str, ...]:
    """The scopes that all of them lie in."""
    if not paths:
        return ()
    low, high = min(paths), max(paths)
    equal = 0
    while equal < min(len(low), len(high)) and low[equal] == high[equal]:
        equal += 1
    return low[:equal]
