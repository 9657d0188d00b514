"""Tests of searches on synthetic functions with a simulated clock: optima, and determinism."""

from collections.abc import Callable
from math import inf, log2

import pytest

from compiler.errors import CompileError
from compiler.schedule.language.text import parse_schedule
from compiler.tuning import annealing
from compiler.tuning.annealing import AnnealingSearch, Experience
from compiler.tuning.explore import BATCH, PATIENCE, Walk, explore
from compiler.tuning.judge import Verdict
from compiler.tuning.search import GeneticSearch, RandomSearch, Search
from compiler.tuning.space import Knob, Point, Space

LINES = parse_schedule("Y: split(i, 4, io, ii)\nY: split(j, 8, jo, ji)\nY: split(k, 2, ko, ki)\n")
SIZES = (12, 16, 9)
SPACE = Space(
    LINES, tuple(Knob("factor", i, tuple(range(1, n + 1)), 1) for i, n in enumerate(SIZES))
)
BEST = (8, 3, 6)
SEARCHES = (AnnealingSearch, GeneticSearch, RandomSearch)


def bowl(p: Point) -> float:
    """Return the time of a point: minimal at BEST, with ridges, and an illegal corner."""
    if p[0] == 0:
        return inf
    return 0.5 + sum(abs(a - b) for a, b in zip(p, BEST, strict=True)) / 20 + (p[1] % 2) * 0.02


def described(p: Point) -> list[float]:
    return [float(x) for x in p] + [log2(x + 1) for x in p]


class Clock:
    """A clock that advances only by measurements."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def verdict(score: float) -> Verdict:
    return Verdict("right", score, 1.0) if score < inf else Verdict("refused")


def run(
    kind: type[Search], seed: int = 0, seconds: float = 1e9, cost: Callable[[Point], float] = bowl
) -> tuple[Walk, list[Point]]:
    clock, tried = Clock(), list[Point]()

    def measure(points: list[Point]) -> list[Verdict]:
        clock.now += len(points)
        tried.extend(points)
        return [verdict(cost(p)) for p in points]

    walk = Walk(kind(SPACE, seed, described), measure)
    explore([walk], seconds, clock)
    return walk, tried


@pytest.mark.parametrize("kind", [AnnealingSearch, GeneticSearch])
def test_searches_find_the_optimum_of_a_bowl_in_a_part_of_the_space(kind: type[Search]) -> None:
    found, tried = run(kind, seconds=200)
    score, point = found.better[0]
    assert bowl(point) <= bowl(BEST) + 0.06
    assert score == bowl(point)
    assert len(tried) < SPACE.size / 4


def test_the_learned_model_needs_fewer_candidates_than_chance() -> None:
    learned = run(AnnealingSearch, 0, 80)[0].better[0][0]
    by_chance = [run(RandomSearch, s, 80)[0].better[0][0] for s in range(5)]
    assert learned < sum(by_chance) / 5


def test_what_was_measured_elsewhere_is_used_from_the_first_batch_on() -> None:
    experience = Experience()
    first = AnnealingSearch(SPACE, 1, described, experience)
    for point in first.propose(120):
        first.learn(point, bowl(point))
    second = AnnealingSearch(SPACE, 2, described, experience)
    by_chance = RandomSearch(SPACE, 2, described)
    informed, chance = (min(map(bowl, s.propose(6))) for s in (second, by_chance))
    assert informed < chance


@pytest.mark.parametrize("kind", SEARCHES)
def test_the_same_seed_gives_the_same_candidates(kind: type[Search]) -> None:
    tried = run(kind, 7, 30)[1]
    assert run(kind, 7, 30)[1] == tried
    assert run(kind, 8, 30)[1] != tried


@pytest.mark.parametrize("kind", SEARCHES)
def test_no_point_is_tried_twice_and_the_default_never(kind: type[Search]) -> None:
    tried = run(kind, 3, 50)[1]
    assert len(set(tried)) == len(tried)
    assert SPACE.default not in tried


@pytest.mark.parametrize("kind", SEARCHES)
def test_a_small_space_is_exhausted(kind: type[Search]) -> None:
    knobs = tuple(Knob("factor", i, (1, 2, 3), 0) for i in range(2))
    search = kind(Space(LINES, knobs), 0, described)
    found = Walk(search, lambda ps: [verdict(1.5) for _ in ps])
    explore([found], 1e9, Clock())
    assert found.why_stopped == "exhausted"
    assert found.n_tried == 8
    assert found.better == []


def test_a_search_stops_when_its_time_is_up() -> None:
    found, tried = run(RandomSearch, 0, 20)
    assert found.why_stopped == "budget"
    assert 20 <= len(tried) < 20 + BATCH


def test_a_search_stops_when_nothing_gets_better() -> None:
    found, tried = run(RandomSearch, 0, cost=lambda p: 1.1)
    assert found.why_stopped == "converged"
    assert PATIENCE <= len(tried) < PATIENCE + BATCH


def test_an_interrupted_search_keeps_what_it_has() -> None:
    batches = 0

    def measure(points: list[Point]) -> list[Verdict]:
        nonlocal batches
        batches += 1
        if batches == 3:
            raise KeyboardInterrupt
        return [verdict(0.9) for _ in points]

    found = Walk(RandomSearch(SPACE, 0, described), measure)
    explore([found], 1e9, Clock())
    assert found.why_stopped == "interrupted"
    assert len(found.better) == 2 * BATCH


def shared_out(walks: list[Walk], seconds: float, scores: list[list[float]]) -> list[int]:
    """Return the number of batches for each search, given the scores of its candidates."""
    clock = Clock()

    def measuring(left: list[float]) -> Callable[[list[Point]], list[Verdict]]:
        def measure(points: list[Point]) -> list[Verdict]:
            clock.now += 1
            return [verdict(left.pop(0) if left else 1.0) for _ in points]

        return measure

    for walk, left in zip(walks, scores, strict=True):
        walk.measure = measuring(left)
    explore(walks, seconds, clock)
    return [w.n_batches for w in walks]


def walk(seconds: float, room: float) -> Walk:
    return Walk(RandomSearch(SPACE, 0, described), lambda _: [], seconds, room)


def test_time_goes_to_where_there_is_room() -> None:
    assert shared_out([walk(3, 2), walk(3, 1), walk(1, 0.001)], 9, [[], [], []]) == [6, 3, 0]


def test_time_goes_to_where_something_is_found() -> None:
    better = [1 - i / 60 for i in range(60)]
    (many, few) = shared_out([walk(3, 1), walk(3, 2)], 16, [better, []])
    assert many > few
    assert many + few == 16


def test_time_goes_to_where_the_model_promises_something() -> None:
    walks = [walk(1, 0.1), walk(1, 0.1)]
    walks[1].search.promised = 0.5
    assert shared_out(walks, 4, [[], []]) == [0, 4]


def test_outcomes_are_counted() -> None:
    found, tried = run(RandomSearch, 0, 200)
    assert found.outcomes["refused"] == sum(bowl(p) == inf for p in tried)
    assert found.outcomes["right"] == sum(bowl(p) < inf for p in tried)


def test_without_xgboost_it_is_said_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(annealing, "has_model", lambda: False)
    with pytest.raises(CompileError) as caught:
        AnnealingSearch(SPACE, 0, described)
    assert caught.value.code == "E-TUNE-MODEL"
    assert "pip install" in caught.value.hint
    assert "genetic" in caught.value.hint
