"""Random tasks of several shapes from a seed, for tests and benchmarks of placement.

Costs vary by a factor of ten. Sizes of values are such that the transfer over the bus of the
platform `gpu` takes from a fraction to a multiple of the producer's time.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from compiler.ir.operator import Cost
from compiler.place.tasks import Datum, Task, TaskGraph

Edges = list[list[int]]
"""For each task the tasks that it reads, all of them earlier."""

OPERATORS = ("conv", "matmul", "add", "softmax")


def layered(n: int, chance: random.Random) -> Edges:
    """Return layers of a given width; a task reads one to three tasks of the previous layer."""
    width = max(2, round(n**0.5 * chance.uniform(0.5, 1.5)))
    layers = [list(range(a, min(a + width, n))) for a in range(0, n, width)]
    edges: Edges = [[] for _ in layers[0]]
    for above, layer in pairwise(layers):
        edges += [chance.sample(above, min(len(above), chance.randint(1, 3))) for _ in layer]
    return edges


def fork_join(n: int, chance: random.Random) -> Edges:
    """Return tasks that fork and join several times."""
    edges: Edges = [[]]
    while len(edges) < n:
        first = len(edges) - 1
        width = min(chance.randint(2, 6), max(n - len(edges) - 1, 1))
        edges += [[first] for _ in range(width)]
        edges.append(list(range(first + 1, len(edges))))
    return edges


def out_tree(n: int, chance: random.Random) -> Edges:
    """Return a tree in which each task but the first reads one earlier task."""
    return [[], *([chance.randrange(max(0, i - 6), i)] for i in range(1, n))]


def in_tree(n: int, chance: random.Random) -> Edges:
    """Return a tree in which each task but the last is read by one later task."""
    edges: Edges = [[] for _ in range(n)]
    for i in range(n - 1):
        edges[chance.randrange(i + 1, min(i + 7, n))].append(i)
    return edges


def series_parallel(n: int, chance: random.Random) -> Edges:
    """Return a graph grown from one edge, by inserting tasks in series or in parallel."""
    pairs = [(0, 1)]
    for new in range(2, n):
        a, b = chance.choice(pairs)
        if chance.random() < 0.5:
            pairs.remove((a, b))
        pairs += [(a, new), (new, b)]
    order = _ordered(n, pairs)
    at = {v: i for i, v in enumerate(order)}
    edges: Edges = [[] for _ in range(n)]
    for a, b in pairs:
        edges[at[b]].append(at[a])
    return edges


def _ordered(n: int, pairs: Sequence[tuple[int, int]]) -> list[int]:
    left, order = set(range(n)), list[int]()
    while left:
        free = sorted(v for v in left if not any(b == v and a in left for a, b in pairs))
        order += free
        left -= set(free)
    return order


def random_wired(n: int, chance: random.Random) -> Edges:
    """Return a small-world graph (Watts and Strogatz), with edges toward larger numbers."""
    pairs: set[tuple[int, int]] = set()
    for i in range(n):
        for j in (1, 2):
            to = chance.randrange(n) if chance.random() < 0.5 else (i + j) % n
            if to != i:
                pairs.add((min(i, to), max(i, to)))
    return [sorted(a for a, b in pairs if b == i) for i in range(n)]


FAMILIES: Mapping[str, Callable[[int, random.Random], Edges]] = {
    f.__name__: f for f in (layered, fork_join, in_tree, out_tree, series_parallel, random_wired)
}


def random_tasks(family: str, n: int, seed: int, weights: bool = True) -> TaskGraph:
    """Return about `n` tasks of a family; by default half of them have weights."""
    chance = random.Random(f"{family} {n} {seed}")
    edges = FAMILIES[family](n, chance)
    data = [Datum("x", chance.randint(10_000, 300_000))]
    tasks: list[Task] = []
    for i, before in enumerate(edges):
        made = Datum(f"v{i}", round(10 ** chance.uniform(4, 6.2)))
        reads = tuple(f"v{u}" for u in dict.fromkeys(before)) or ("x",)
        if weights and chance.random() < 0.5:
            data.append(Datum(f"w{i}", round(10 ** chance.uniform(4, 6)), is_weight=True))
            reads = (*reads, f"w{i}")
        cost = Cost(round(10 ** chance.uniform(6.3, 7.8)), made.nbytes * 2, made.nbytes)
        data.append(made)
        tasks.append(Task(f"t{i}", (chance.choice(OPERATORS),), reads, (made.name,), cost))
    read = {r for t in tasks for r in t.reads}
    data = [replace(d, is_result=d.name[0] == "v" and d.name not in read) for d in data]
    return TaskGraph(f"{family}_{n}_{seed}", tuple(tasks), tuple(data))
