"""Tests of minimum cuts, against an enumeration of all choices."""

from __future__ import annotations

import itertools
import random

import networkx as nx
import pytest

from compiler.passes.layout.cut import Cut
from compiler.passes.layout.labels import Copy, Energy


def random_energy(rng: random.Random, n: int, n_labels: int, alike: bool = False) -> Energy:
    """Return kernels, some without some labels, and copies, whose costs may be equal."""
    made = Energy()
    for _ in range(n):
        costs = {label: rng.randint(0, 9) for label in range(n_labels)}
        for label in range(1, n_labels):
            if rng.random() < 0.2:
                del costs[label]
        made.kernels.append(costs)
    for i in range(n):
        cost, readers = rng.randint(0, 9), _others(rng, n, i)
        for label in range(n_labels):
            if not alike:
                cost, readers = rng.randint(0, 9), _others(rng, n, i)
            maker = None if rng.random() < 0.2 and not alike else i
            made.copies.append(Copy(maker, frozenset({label}), cost, readers))
    return made


def _others(rng: random.Random, n: int, i: int) -> tuple[int, ...]:
    found = rng.sample([x for x in range(n) if x != i], rng.randint(1, min(3, n - 1)))
    return tuple(sorted(found))


def least(energy: Energy) -> int:
    return min(energy.of(choice) for choice in itertools.product(*energy.kernels))


@pytest.mark.parametrize("seed", range(150))
def test_with_two_labels_nothing_costs_less(seed: int) -> None:
    rng = random.Random(seed)
    energy = random_energy(rng, rng.randint(2, 9), 2)
    assert energy.of(energy.best([0, 1])) == least(energy)


def test_with_three_labels_little_costs_less() -> None:
    found, best, n_best = 0, 0, 0
    for seed in range(120):
        rng = random.Random(1000 + seed)
        energy = random_energy(rng, rng.randint(2, 6), 3, alike=True)
        cost, lowest = energy.of(energy.best([0, 1, 2])), least(energy)
        assert lowest <= cost <= 2 * lowest
        found, best, n_best = found + cost, best + lowest, n_best + (cost == lowest)
    assert n_best > 90
    assert found < 1.02 * best


def test_moves_never_begin_dearer_than_plain() -> None:
    for seed in range(30):
        energy = random_energy(random.Random(seed), 12, 3)
        assert energy.of(energy.best([0, 1, 2])) <= energy.of([0] * 12)


@pytest.mark.parametrize("seed", range(40))
def test_a_cut_costs_what_networkx_says(seed: int) -> None:
    rng = random.Random(seed)
    n, cut, peer = rng.randint(3, 12), Cut(), nx.DiGraph()
    for _ in range(n - 2):
        cut.vertex()
    peer.add_nodes_from(range(n))
    arcs: dict[tuple[int, int], int] = {}
    for _ in range(3 * n):
        a, b = rng.sample(range(n), 2)
        arcs[a, b] = arcs.get((a, b), 0) + rng.randint(1, 20)
    for (a, b), room in arcs.items():
        cut.arc(a, b, room)
        peer.add_edge(a, b, capacity=room)
    side = cut.sink_side()
    assert side[1]
    assert not side[0]
    cost = sum(room for (a, b), room in arcs.items() if not side[a] and side[b])
    assert cost == nx.minimum_cut_value(peer, 0, 1)


def test_a_long_chain_is_cut_where_kernels_differ() -> None:
    energy = Energy()
    for i in range(6000):
        energy.kernels.append({0: 5 if i % 7 else 0, 1: 1 if i % 7 else 40})
        for label in (0, 1) if i else ():
            energy.copies.append(Copy(i - 1, frozenset({label}), 3, (i,)))
    chosen = energy.best([0, 1])
    assert [i for i, label in enumerate(chosen) if not label] == list(range(0, 6000, 7))
