"""PQ-trees: all orders of leaves in which given sets are contiguous.

The children of a P node may be permuted, the children of a Q node reversed. Trees are immutable: a
reduction returns a new tree that shares unchanged parts. Source: Booth and Lueker, Testing for the
consecutive ones property, 1976; here the templates reduce and replace a set in one step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

Tree: TypeAlias = tuple[int, str, tuple[Any, ...]]
"""The leaves of a tree as a set of bits, its kind (LEAF, P or Q), and its children. A leaf has its
number instead of children."""

LEAF, P, Q = "leaf", "P", "Q"


def leaf(number: int) -> Tree:
    """Return a leaf."""
    return (1 << number, LEAF, (number,))


def any_order(children: Sequence[Tree]) -> Tree:
    """Return a P node; for a single child, the child."""
    if len(children) == 1:
        return children[0]
    return (_leaves(children), P, tuple(children))


def this_order(children: Sequence[Tree]) -> Tree:
    """Return a Q node; for fewer than three children, an equivalent P node."""
    if len(children) < 3:
        return any_order(children)
    return (_leaves(children), Q, tuple(children))


def _leaves(children: Sequence[Tree]) -> int:
    leaves = 0
    for child in children:
        leaves |= child[0]
    return leaves


def replaced(tree: Tree, some: int, by: Tree) -> Tree | None:
    """Replace the leaves `some` by a tree; retain only orders in which these leaves are contiguous.

    Return None if the leaves are not contiguous in any order of the tree.
    """
    leaves, kind, children = tree
    if leaves == some:
        return by
    touched = [i for i, child in enumerate(children) if child[0] & some]
    first, last = touched[0], touched[-1]
    if first == last:
        inner = replaced(children[first], some, by)
        if inner is None:
            return None
        changed = (*children[:first], inner, *children[first + 1 :])
        return (leaves & ~some | by[0], kind, changed)
    partial = [i for i in touched if children[i][0] & ~some]
    if kind == Q:
        if len(touched) != last - first + 1 or not {first, last}.issuperset(partial):
            return None
        before = _aside(children[first], some) if first in partial else []
        behind = _aside(children[last], some) if last in partial else []
        if before is None or behind is None:
            return None
        return this_order(
            [*children[:first], *before, by, *reversed(behind), *children[last + 1 :]]
        )
    if len(partial) > 2:
        return None
    before = _aside(children[partial[0]], some) if partial else []
    behind = _aside(children[partial[1]], some) if len(partial) > 1 else []
    if before is None or behind is None:
        return None
    others = [child for child in children if not child[0] & some]
    return any_order([*others, this_order([*before, by, *reversed(behind)])])


def _aside(tree: Tree, some: int) -> list[Tree] | None:
    """Return the subtrees without the leaves `some`; the last subtree is next to these leaves.

    Return None if the leaves cannot be at an end of the tree's order.
    """
    _, kind, children = tree
    others = [child for child in children if not child[0] & some]
    partial = [child for child in children if child[0] & some and child[0] & ~some]
    if len(partial) > 1:
        return None
    if kind == Q:
        # The children, possibly reversed, must be subtrees without leaves of `some`, then at most
        # one subtree with some of these leaves, then subtrees with only these leaves.
        kinds = [0 if not c[0] & some else 1 if c[0] & ~some else 2 for c in children]
        if kinds[0] > kinds[-1]:
            kinds.reverse()
            others.reverse()
        if kinds != sorted(kinds):
            return None
    elif others:
        others = [any_order(others)]
    if partial:
        inner = _aside(partial[0], some)
        return None if inner is None else [*others, *inner]
    return others


def in_order(tree: Tree, rank: dict[int, int]) -> list[int]:
    """Return the leaves in an order that the tree permits and that agrees with given ranks.

    Leaves of equal rank are adjacent in this order.
    """
    order: list[int] = []
    _append(_ranked(tree, rank), order)
    return order


_Ranked: TypeAlias = tuple[int, int, Any]
"""The smallest and largest rank of the leaves, and the ordered children (for a leaf, its
number)."""


def _ranked(tree: Tree, rank: dict[int, int]) -> _Ranked:
    _, kind, children = tree
    if kind == LEAF:
        number = children[0]
        return rank[number], rank[number], number
    ranked = [_ranked(child, rank) for child in children]
    if kind == P:
        ranked.sort(key=lambda r: r[:2])
    elif ranked[0][:2] > ranked[-1][:2]:
        ranked.reverse()
    return min(r[0] for r in ranked), max(r[1] for r in ranked), ranked


def _append(ranked: _Ranked, order: list[int]) -> None:
    inner = ranked[2]
    if isinstance(inner, int):
        order.append(inner)
        return
    for child in inner:
        _append(child, order)
