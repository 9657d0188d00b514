"""Exercises on the search of schedules, judged by modelled cycles."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from statistics import median
from typing import Any

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.tuning.search import RandomSearch
from compiler.tuning.space import Point
from course.exercises.declaration import exercise_kind
from course.format.toml import Table
from course.judging.judgement import Judgement, Score
from course.judging.session import error_of
from course.modelled_products import Product, wrong_pairs
from course.student.execute import Student

MOST_TRIES = 200
MOST_SEEDS = 20
MOST_CALLS = 5_000
"""Maximum number of calls of `cost`: a search may ask again for points that it tried."""

N_HELD_OUT = 80
"""The number of points that a learned model ranks."""


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Products by name, the number of tries and of seeds, and the goal.

    The median cost of the best point may be at most `within` times the median of a random search.
    """

    products: Mapping[str, Product]
    tries: int
    seeds: int
    within: float


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Products by name, numbers of measured points and of seeds, the largest share of wrong pairs.

    The median over the seeds counts.
    """

    products: Mapping[str, Product]
    tries: int
    seeds: int
    most_wrong: float


def read_search(t: Table) -> SearchSettings:
    """Read the settings of a search. Errors: E-EXERCISE-FORM."""
    t.only("product", "tries", "seeds", "within")
    return SearchSettings(_products(t), _tries(t), _seeds(t), t.number("within", 1.0))


def read_model(t: Table) -> ModelSettings:
    """Read the settings of a model. Errors: E-EXERCISE-FORM."""
    t.only("product", "tries", "seeds", "most_wrong")
    return ModelSettings(_products(t), _tries(t), _seeds(t), t.number("most_wrong"))


def _tries(t: Table) -> int:
    tries = t.integer("tries", 40)
    if not 0 < tries <= MOST_TRIES:
        raise t.fail(f"tries are from 1 to {MOST_TRIES}, got {tries}")
    return tries


def _seeds(t: Table) -> int:
    seeds = t.integer("seeds", 9)
    if not 0 < seeds <= MOST_SEEDS:
        raise t.fail(f"seeds are from 1 to {MOST_SEEDS}, got {seeds}")
    return seeds


def _products(t: Table) -> Mapping[str, Product]:
    found: dict[str, Product] = {}
    for i, each in enumerate(t.tables("product", ()), 1):
        each.only("name", "rows", "columns", "depth")
        try:
            made = Product(each.integer("rows"), each.integer("columns"), each.integer("depth"))
        except CompileError as e:
            raise t.fail(e.message) from None
        found[each.text("name", f"product {i}")] = made
    if not found:
        raise t.fail("an exercise needs at least one product")
    return found


class _Enough(BaseException):
    """The search has used all its tries."""


def reply_of_search(student: Student, settings: SearchSettings, question: Mapping[str, Any]) -> Any:
    """Run the student's `search(space, cost, chance)`, and return the points that it tried."""
    product = settings.products[question["product"]]
    tried: dict[Point, float] = {}
    n_calls = 0

    def cost(point: Point) -> float:
        nonlocal n_calls
        at, n_calls = tuple(point), n_calls + 1
        is_new = at not in tried
        if n_calls > MOST_CALLS or (is_new and len(tried) == settings.tries):
            raise _Enough
        if is_new:
            tried[at] = product.cycles(at)
        return tried[at]

    try:
        student.function("search")(product.space, cost, random.Random(question["seed"]))
    except _Enough:
        pass
    return [list(p) for p in tried]


@exercise_kind(read=read_search, reply=reply_of_search)
def write_search(j: Judgement, settings: SearchSettings, text: str) -> None:
    """Write a search: a function `search(space, cost, chance)` that tries schedules.

    `cost(point)` returns modelled cycles. The search ends when it has tried enough different
    points, and the best of these points counts. The judge compares the median over several seeds
    with that of a random search.
    """
    seeds = range(settings.seeds)
    asked = [{"product": name, "seed": s} for name in settings.products for s in seeds]
    replies = iter(j.ask(asked))
    for name, product in settings.products.items():
        found = [_best(product, next(replies), settings.tries) for _ in seeds]
        error = next((f for f in found if isinstance(f, CompileError)), None)
        if error is not None:
            j.refused(name, error)
            continue
        best = median(f for f in found if not isinstance(f, CompileError))
        if best == math.inf:
            j.failed(name, "the search tries no point")
            continue
        j.passed(name, "each tried point is a schedule of the space")
        most = settings.within * median(random_best(product, s, settings.tries) for s in seeds)
        j.score(f"{name}: cycles", Score("cycles", round(best), "count", round(most)))


def _best(product: Product, reply: Any, tries: int) -> float | CompileError:
    """Return the lowest cost of the first points of a reply, which may come from hostile code."""
    error = error_of(reply)
    if error is not None:
        return error
    points = reply["value"]
    if not isinstance(points, list) or not all(isinstance(p, list) for p in points):
        return CompileError("E-ANSWER-FORM", "a reply is not a list of points")
    try:
        return min((product.cycles(tuple(p)) for p in points[:tries]), default=math.inf)
    except CompileError as e:
        return e


def random_best(product: Product, seed: int, tries: int) -> float:
    """Return the lowest cost that a random search finds."""
    search = RandomSearch(product.space, seed, product.features)
    return min(map(product.cycles, search.propose(tries)), default=math.inf)


def split_points(product: Product, seed: int, tries: int) -> tuple[list[Point], list[Point]]:
    """Return random points to learn from, and other random points to rank."""
    search = RandomSearch(product.space, seed, product.features)
    return search.propose(tries), search.propose(N_HELD_OUT)


def reply_of_model(student: Student, settings: ModelSettings, question: Mapping[str, Any]) -> Any:
    """Train the student's `fit(features, costs)`, and return its predictions of other points."""
    product = settings.products[question["product"]]
    known, others = split_points(product, question["seed"], settings.tries)
    fit = student.function("fit")
    predict = fit([product.features(p) for p in known], [product.cycles(p) for p in known])
    if not callable(predict):
        message = f"fit returns a function, got {type(predict).__name__}"
        raise CompileError("E-ANSWER-FORM", message)
    predicted: list[Any] = [predict(product.features(p)) for p in others]
    return [float(value) for value in predicted]


@exercise_kind(read=read_model, reply=reply_of_model)
def write_cost_model(j: Judgement, settings: ModelSettings, text: str) -> None:
    """Write a learned cost model: a function `fit(features, costs)` that returns a function.

    The returned function predicts the cost of a schedule from its features; only the order of its
    predictions counts. The judge counts the pairs of other schedules in the wrong order.
    """
    seeds = range(settings.seeds)
    asked = [{"product": name, "seed": s} for name in settings.products for s in seeds]
    replies = iter(j.ask(asked))
    for name, product in settings.products.items():
        found = [_wrong_share(product, s, settings.tries, next(replies)) for s in seeds]
        error = next((f for f in found if isinstance(f, CompileError)), None)
        if error is not None:
            j.refused(name, error)
            continue
        j.passed(name, "each prediction is a number")
        wrong = median(f for f in found if not isinstance(f, CompileError))
        j.score(f"{name}: pairs", Score("wrong_pairs", wrong, "share", settings.most_wrong))


def _wrong_share(product: Product, seed: int, tries: int, reply: Any) -> float | CompileError:
    """Return the share of wrong pairs of a reply, which may come from hostile code."""
    error = error_of(reply)
    if error is not None:
        return error
    others = split_points(product, seed, tries)[1]
    predicted = _numbers(reply["value"], len(others))
    if predicted is None:
        return CompileError("E-ANSWER-FORM", "a prediction is no finite number")
    return wrong_pairs(predicted, [product.cycles(p) for p in others])


def _numbers(values: object, n: int) -> list[float] | None:
    if not isinstance(values, list) or len(values) != n:
        return None
    fine = all(
        isinstance(v, int | float) and not isinstance(v, bool) and math.isfinite(v) for v in values
    )
    return values if fine else None
