"""Search strategies over a space: random, genetic, or guided by a learned model.

A search proposes points, and its caller reports their measured scores. Because a search does not
measure, equal scores lead to equal proposals. A search proposes no point twice.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from math import inf

from compiler.tuning.space import Point, Space

Describe = Callable[[Point], list[float]]
"""A function that computes the features of a point."""

TRIES = 64
"""The number of random attempts to find a new point before the space counts as nearly exhausted."""

LISTED = 4096
"""The maximum size of a space in which the last new points are found by enumeration."""


class Search(ABC):
    """A search of a space; `scores` maps measured points to times relative to the untuned kernel.

    The score of a rejected point is infinite.
    """

    def __init__(self, space: Space, seed: int, describe: Describe) -> None:
        self.space = space
        self.chance = random.Random(seed)
        self.describe = describe
        self.proposed: set[Point] = {space.default}
        self.scores: dict[Point, float] = {space.default: 1.0}
        self.expected: dict[Point, float] = {}
        """Scores that a search with a learned model predicted before the points were measured."""
        self.promised = inf
        """The score that a search with a learned model predicts for the best unmeasured point."""

    def propose(self, n: int) -> list[Point]:
        """Return at most `n` new points; an empty list if the space is exhausted."""
        found: list[Point] = []
        for point in self._wanted(n):
            if len(found) == n:
                break
            if point not in self.proposed:
                self.proposed.add(point)
                found.append(point)
        while len(found) < n:
            point = self._unseen()
            if point is None:
                break
            self.proposed.add(point)
            found.append(point)
        return found

    def learn(self, point: Point, score: float) -> None:
        """Record the measured score of a point."""
        self.scores[point] = score

    @property
    def best(self) -> tuple[Point, float]:
        """Return the best point so far; among equal points, the first that was measured."""
        return min(self.scores.items(), key=lambda item: item[1])

    @abstractmethod
    def _wanted(self, n: int) -> Iterator[Point]:
        """Yield promising points, best first; the caller skips points that were proposed before."""

    def _unseen(self) -> Point | None:
        """Return a point that was not proposed before, or None if no such point is found."""
        for _ in range(TRIES):
            point = self.space.random(self.chance)
            if point not in self.proposed:
                return point
        if self.space.size > LISTED:
            return None
        return next((p for p in self.space.points() if p not in self.proposed), None)

    def _good(self, n: int) -> list[Point]:
        """Return the `n` best correct points, best first."""
        right = [(score, point) for point, score in self.scores.items() if score < inf]
        return [point for _, point in sorted(right, key=lambda x: x[0])[:n]]


class RandomSearch(Search):
    """Random search, the baseline for all other searches (Bergstra and Bengio 2012)."""

    def _wanted(self, n: int) -> Iterator[Point]:
        return iter(())


POPULATION = 16
MUTATION = 0.6
"""The probability that one knob of a child mutates after crossover."""


class GeneticSearch(Search):
    """Genetic search: crossover of two of the best points, followed by mutation of a knob.

    Source: Holland 1975; for schedules Ragan-Kelley et al. 2013 and Zheng et al. 2020.
    """

    def _wanted(self, n: int) -> Iterator[Point]:
        parents = self._good(POPULATION)
        for _ in range(8 * n):
            child = self.space.cross(self._parent(parents), self._parent(parents), self.chance)
            if child in self.proposed or self.chance.random() < MUTATION:
                child = self.space.neighbour(child, self.chance)
            yield child

    def _parent(self, parents: list[Point]) -> Point:
        """Select a parent: the better of two random points."""
        return parents[min(self.chance.randrange(len(parents)) for _ in range(2))]
