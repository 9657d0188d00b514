"""Tests of units merged in any order: no cycles, a topological order, separate copies."""

from __future__ import annotations

import random

import pytest

from compiler.ir.verify import verify
from compiler.passes.fusion.siblings import try_to_merge
from compiler.passes.fusion.units import Units
from tests.compiler.passes.fusion.branches import random_branches
from tests.compiler.passes.numbers import graph


def assert_in_order(units: Units) -> None:
    orders = [u.order for u in units.all()]
    assert len(set(orders)) == len(orders)
    for unit in units.all():
        for source in units.sources(unit):
            assert source.order < unit.order, f"{source.last} comes after {unit.last}"


@pytest.mark.parametrize("seed", range(20))
def test_the_order_stays_right_whatever_merges(seed: int) -> None:
    g = random_branches(seed, 60)
    units, chance = Units(g), random.Random(seed)
    n_merged = 0
    for _ in range(150):
        a, b = (units.unit_of[f"v{chance.randrange(1, 60)}"] for _ in range(2))
        if a is not b and try_to_merge(units, a, b, 12):
            n_merged += 1
            assert_in_order(units)
    assert n_merged > 10
    verify(units.result()[0])


def test_a_path_through_a_third_kernel_is_named() -> None:
    g = graph(
        """
        graph g(x: f32[4,6]) {
          a: f32[4,6] = exp(x)
          s: f32[4,1] = reduce_sum(a, axes=[1], keepdims=true)
          n: f32[4,1] = neg(s)
          y: f32[4,6] = div(a, n)
          return y
        }
        """
    )
    units = Units(g)
    way = units.way(units.unit_of["a"], units.unit_of["y"])
    assert way.path == ("a", "s", "n", "y")
    assert way.obstacle == "fusion would create a cycle: a -> s -> n -> y"


def test_a_copy_is_read_by_one_kernel_only() -> None:
    g = graph(
        """
        graph g(x: f32[4,6]) {
          a: f32[4,6] = neg(x)
          b: f32[4,6] = exp(a)
          c: f32[4,6] = relu(a)
          return b, c
        }
        """
    )
    units = Units(g)
    (copy,) = units.copy_into(units.unit_of["a"], units.unit_of["c"]).values()
    assert units.made["c"].inputs == (copy.output,)
    assert units.made["b"].inputs == ("a",)
    assert units.unit_of[copy.output] is units.unit_of["c"]
    after, groups = units.result()
    verify(after)
    assert [set(group.nodes) for group in groups] == [{copy.output, "c"}]
