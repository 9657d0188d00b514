"""The loop that creates and undoes joins: compiled if numba is installed, else interpreted.

A *node* of the forest is a block or a join, whose children are the joined nodes. A *root* is a node
without a parent: a rectangle that may be joined further. A join combines two sets of roots with
equal sums of sizes. The first set ends at a step, the second begins there, and all roots of a set
have the same lifetime.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from compiler.memory.planners.native import compiled, kept

START, END, SIZE, CHILD, SIBLING, BEHIND, PLACE, NEXT, LAST = 0, 1, 2, 3, 4, 5, 6, 7, 9
"""Columns of `nodes`. NEXT and LAST have two columns each, one per linked list of a step. One list
has the roots that end at the step, the second the roots that begin there."""

COLUMNS = 11

ROOTS, UNUSED, CHANCE = 0, 1, 2
"""Positions in `count`; the first two are also rows of `lists`."""

MINE, THEIRS, SOME, OTHER = 0, 1, 2, 3
"""Rows of `sets`. MINE and THEIRS are the two sets to join. SOME has candidates of one lifetime.
OTHER has the candidates on the other side of the step."""

MOST_PAIRS = 24
"""Maximum number of roots that are examined to find two with a given sum of sizes."""

SHARES = (7, 12, 14, 15)
"""Cumulative probabilities, in sixteenths, that a chosen set has at most 1, 2, 3 or 4 roots.
Otherwise it has all roots of its lifetime at the step."""


class Forest(NamedTuple):
    """The arrays of a forest: n blocks, then space for n joins. Units: steps by their rank, bytes.

    In `nodes`, CHILD is the first child of a join, and SIBLING the next child of the same join.
    BEHIND is 0 for children before the join's step, and 1 for children after it. PLACE is the
    position of a root in the list of roots. For each step, `steps` has the heads of two doubly
    linked lists. Side 0 lists the roots that end at the step, side 1 the roots that begin there.
    `lists` has the roots and the unused numbers of joins. `count` has the lengths of both lists and
    the state of the random number generator. `sets` has sets of roots.
    """

    nodes: Any
    steps: Any
    lists: Any
    sets: Any
    count: Any


@compiled
def draw(count: Any, n: int) -> int:
    """Return a random number below n (up to 2**31), by xorshift of 63 bits (Marsaglia 2003)."""
    x = count[CHANCE]
    x ^= (x << 13) & 0x7FFFFFFFFFFFFFFF
    x ^= x >> 7
    x ^= (x << 17) & 0x7FFFFFFFFFFFFFFF
    count[CHANCE] = x
    return (((x >> 20) & 0x7FFFFFFF) * n) >> 31


@compiled
def add_root(f: Forest, node: int) -> None:
    """Make a node a root."""
    n = f.count[ROOTS]
    f.lists[ROOTS, n], f.nodes[node, PLACE], f.count[ROOTS] = node, n, n + 1
    for side in range(2):
        step = f.nodes[node, END - side]
        first = f.steps[step, side]
        f.nodes[node, NEXT + side], f.nodes[node, LAST + side] = first, -1
        if first >= 0:
            f.nodes[first, LAST + side] = node
        f.steps[step, side] = node


@compiled
def remove_root(f: Forest, node: int) -> None:
    """Remove a node from the roots."""
    n = f.count[ROOTS] - 1
    moved, at = f.lists[ROOTS, n], f.nodes[node, PLACE]
    f.lists[ROOTS, at], f.nodes[moved, PLACE], f.count[ROOTS] = moved, at, n
    for side in range(2):
        after, before = f.nodes[node, NEXT + side], f.nodes[node, LAST + side]
        if before >= 0:
            f.nodes[before, NEXT + side] = after
        else:
            f.steps[f.nodes[node, END - side], side] = after
        if after >= 0:
            f.nodes[after, LAST + side] = before


@compiled
def undo(f: Forest, root: int, hot: float) -> None:
    """Undo a join with a probability that decreases with the number of added roots."""
    n, child = -1, f.nodes[root, CHILD]
    if child < 0:
        return
    while child >= 0:
        n += 1
        child = f.nodes[child, SIBLING]
    if draw(f.count, 1 << 20) > math.exp(-n / hot) * (1 << 20):
        return
    remove_root(f, root)
    child = f.nodes[root, CHILD]
    while child >= 0:
        add_root(f, child)
        child = f.nodes[child, SIBLING]
    f.lists[UNUSED, f.count[UNUSED]] = root
    f.count[UNUSED] += 1


@compiled
def alike(f: Forest, root: int, side: int) -> int:
    """Fill SOME with all other roots that have the lifetime of `root`; return their number."""
    n, node = 0, f.steps[f.nodes[root, END - side], side]
    while node >= 0:
        if node != root and f.nodes[node, START + side] == f.nodes[root, START + side]:
            f.sets[SOME, n] = node
            n += 1
        node = f.nodes[node, NEXT + side]
    return n


@compiled
def chosen(f: Forest, root: int, side: int) -> int:
    """Fill MINE with `root` and random roots of the same lifetime; return the size of the set.

    The size of the set is drawn at random. Return 0 if fewer roots have this lifetime.
    """
    f.sets[MINE, 0] = root
    share, more = draw(f.count, 16), 0
    while more < len(SHARES) and share >= SHARES[more]:
        more += 1
    if more == 0:
        return 1
    n = alike(f, root, side)
    if more == len(SHARES):
        more = n
    if more > n:
        return 0
    for i in range(more):
        j = i + draw(f.count, n - i)
        f.sets[SOME, i], f.sets[SOME, j] = f.sets[SOME, j], f.sets[SOME, i]
        f.sets[MINE, i + 1] = f.sets[SOME, i]
    return more + 1


@compiled
def completed(f: Forest, n: int, need: int) -> int:
    """Fill THEIRS, from position 1, with roots among the first n in SOME whose sizes sum to `need`.

    Only single roots, pairs of roots, and all n roots together are tried. Return the number of
    roots in the set with the sum `need`, or 0 if no tried set has this sum.
    """
    if n == 0:
        return 0
    off, total = draw(f.count, n), 0
    for i in range(n):
        node = f.sets[SOME, (off + i) % n]
        total += f.nodes[node, SIZE]
        if f.nodes[node, SIZE] == need:
            f.sets[THEIRS, 1] = node
            return 1
    if total < need:
        return 0
    for i in range(min(n, MOST_PAIRS)):
        one = f.sets[SOME, (off + i) % n]
        for j in range(i + 1, min(n, MOST_PAIRS)):
            two = f.sets[SOME, (off + j) % n]
            if f.nodes[one, SIZE] + f.nodes[two, SIZE] == need:
                f.sets[THEIRS, 1], f.sets[THEIRS, 2] = one, two
                return 2
    if total != need:
        return 0
    for i in range(n):
        f.sets[THEIRS, i + 1] = f.sets[SOME, i]
    return n


@compiled
def matching(f: Forest, step: int, total: int, side: int) -> int:
    """Fill THEIRS with roots on one side of a step, of `total` bytes in all; return their number.

    Return 0 if no such set is found.
    """
    n, node = 0, f.steps[step, side]
    while node >= 0:
        if f.nodes[node, SIZE] <= total:
            f.sets[OTHER, n] = node
            n += 1
        node = f.nodes[node, NEXT + side]
    if n == 0:
        return 0
    off, equal = draw(f.count, n), -1
    for i in range(n):
        node = f.sets[OTHER, (off + i) % n]
        if f.nodes[node, SIZE] == total:
            equal = node
            break
    head = f.sets[OTHER, off]
    size = f.nodes[head, SIZE]
    if size < total and (equal < 0 or draw(f.count, 2) == 0):
        more = completed(f, alike(f, head, side), total - size)
        if more > 0:
            f.sets[THEIRS, 0] = head
            return more + 1
    f.sets[THEIRS, 0] = equal
    return 1 if equal >= 0 else 0


@compiled
def put_into(f: Forest, parent: int, row: int, n: int, behind: int) -> None:
    """Make the first n roots in a row of `sets` the children of a join, on one side of its step."""
    for i in range(n):
        node = f.sets[row, i]
        remove_root(f, node)
        f.nodes[node, BEHIND], f.nodes[node, SIBLING] = behind, f.nodes[parent, CHILD]
        f.nodes[parent, CHILD] = node


@compiled
def join(f: Forest, root: int) -> None:
    """Join a random set that includes `root` to a set of equal sum across a step, if one exists.

    The search for this set is incomplete (see `completed`).
    """
    side = draw(f.count, 2)
    step = f.nodes[root, END - side]
    if f.steps[step, 1 - side] < 0:
        return
    n_mine = chosen(f, root, side)
    total = 0
    for i in range(n_mine):
        total += f.nodes[f.sets[MINE, i], SIZE]
    n_theirs = matching(f, step, total, 1 - side) if n_mine > 0 else 0
    if n_theirs == 0:
        return
    f.count[UNUSED] -= 1
    parent = f.lists[UNUSED, f.count[UNUSED]]
    f.nodes[parent, START + side] = f.nodes[root, START + side]
    f.nodes[parent, END - side] = f.nodes[f.sets[THEIRS, 0], END - side]
    f.nodes[parent, SIZE], f.nodes[parent, CHILD] = total, -1
    put_into(f, parent, MINE, n_mine, side)
    put_into(f, parent, THEIRS, n_theirs, 1 - side)
    add_root(f, parent)


@kept
def anneal(f: Forest, moves: int, hot: float) -> int:
    """Make `moves` random moves (join or undo) at a temperature; return the number of roots."""
    if f.count[ROOTS] == 0:
        for node in range(f.count[UNUSED]):
            add_root(f, node)
    for _ in range(moves):
        if f.count[ROOTS] == 1:
            break
        root = f.lists[ROOTS, draw(f.count, f.count[ROOTS])]
        if draw(f.count, 2) == 0:
            undo(f, root, hot)
        else:
            join(f, root)
    return f.count[ROOTS]
