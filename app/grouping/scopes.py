"""Scopes in names of nodes: /encoder/layer.0/attn/MatMul has three scopes."""

from __future__ import annotations

_DEEPEST = 32
"""Maximum depth of scopes, and so of nested boxes in the drawing."""


def scopes_of(name: str) -> tuple[str, ...]:
    """Return the scopes around a node, outermost first; empty for a name without scopes.

    Without slashes, dots separate scopes, unless the last part is a number: `p2o.Add.6` is an
    operator with a counter.
    """
    if "/" in name:
        return tuple(part for part in name.split("/")[:-1] if part)[:_DEEPEST]
    *scopes, last = name.split(".")
    return () if last.isdigit() else tuple(part for part in scopes if part)[:_DEEPEST]


def common(paths: list[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the outermost scopes that are common to all paths."""
    if not paths:
        return ()
    low, high = min(paths), max(paths)
    equal = 0
    while equal < min(len(low), len(high)) and low[equal] == high[equal]:
        equal += 1
    return low[:equal]
