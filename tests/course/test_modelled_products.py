"""Tests of the modelled cycles of a product, and of the searches of its schedules."""

from __future__ import annotations

from statistics import median

import pytest

from compiler.errors import CompileError
from compiler.schedule.policies.tiles import choose_tile
from course.modelled_products import Product, wrong_pairs
from course.quantities.subject import fixed_target
from course.student.tuning import GeneticSearch, RandomSearch, Search

FLAT, LARGE = Product(7, 1200, 900), Product(240, 400, 600)


@pytest.mark.parametrize("product", [FLAT, LARGE, Product(60, 72, 90)])
def test_the_compilers_tile_is_among_the_best(product: Product) -> None:
    points = list(product.space.points())
    assert len(points) == product.space.size == 1280
    lanes = fixed_target().vector_bytes // 4
    tile = choose_tile(product.rows, -(-product.columns // lanes), product.depth, fixed_target())
    own = min(
        product.cycles(p) for p in points if product.settings(p)[:2] == (tile.rows, tile.vectors)
    )
    assert own <= 1.25 * min(map(product.cycles, points))


def test_sums_without_a_register_cost_cycles() -> None:
    product, fits, spills = LARGE, (5, 1, 0, 1), (9, 1, 0, 1)
    assert product.settings(fits) == (6, 2, 1, "columns")
    assert product.cycles(spills) > 1.3 * product.cycles(fits)


def test_points_outside_of_the_space_are_refused() -> None:
    for point in [(0, 0, 0), (16, 0, 0, 0), (-1, 0, 0, 0), (0.0, 0, 0, 0), (True, 0, 0, 0)]:
        with pytest.raises(CompileError, match="E-ANSWER-FORM"):
            LARGE.cycles(point)  # type: ignore[arg-type]
    with pytest.raises(CompileError, match="E-ANSWER-FORM"):
        Product(0, 3, 4)


def best(kind: type[Search], seed: int, tries: int) -> float:
    search = kind(LARGE.space, seed, LARGE.features)
    usual = LARGE.cycles(LARGE.space.default)
    for _ in range(tries // 6):
        for point in search.propose(6):
            search.learn(point, LARGE.cycles(point) / usual)
    return search.best[1] * usual


def test_a_genetic_search_needs_fewer_tries_than_a_random_one() -> None:
    genetic, random = (
        median(best(kind, seed, 48) for seed in range(9)) for kind in (GeneticSearch, RandomSearch)
    )
    assert genetic < random


def test_pairs_of_equal_cost_do_not_count() -> None:
    assert wrong_pairs([1.0, 2.0, 3.0], [5.0, 5.0, 9.0]) == 0
    assert wrong_pairs([3.0, 2.0, 1.0], [5.0, 6.0, 9.0]) == 1
    assert wrong_pairs([1.0, 1.0], [5.0, 6.0]) == 1
