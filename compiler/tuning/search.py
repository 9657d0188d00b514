"""How the points of a space are searched: at random, by a population, or by a learned model.

A search proposes points and learns what they measured; it never measures itself, so that the same
measurements give the same proposals. It proposes no point twice.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from math import inf

from compiler.tuning.space import Point, Space

Describe = Callable[[Point], list[float]]
"""The features of a point."""

TRIES = 64
"""So many times a new point is looked for by chance before the space counts as nearly exhausted."""

LISTED = 4096
"""A space with at most so many points is looked through point by point at the end."""


class Search(ABC):
    """A way through a space. `scores` has what is known: seconds as a part of the untuned kernel's.

    A point that is no good has the score infinity.
    """

    def __init__(self, space: Space, seed: int, describe: Describe) -> None:
        self.space = space
        self.chance = random.Random(seed)
        self.describe = describe
        self.proposed: set[Point] = {space.default}
        self.scores: dict[Point, float] = {space.default: 1.0}
        self.expected: dict[Point, float] = {}
        """Scores that were predicted of points before they were measured, if anybody can."""
        self.promised = inf
        """The score that the best point not yet measured is predicted to have, if anybody can."""

    def propose(self, n: int) -> list[Point]:
        """At most `n` points that were not proposed before; none when there are no more."""
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
        """What a point measured."""
        self.scores[point] = score

    @property
    def best(self) -> tuple[Point, float]:
        """The best point so far; of equal ones the one measured first."""
        return min(self.scores.items(), key=lambda item: item[1])

    @abstractmethod
    def _wanted(self, n: int) -> Iterator[Point]:
        """Points worth trying, the most promising first; seen ones are passed over."""

    def _unseen(self) -> Point | None:
        """Any point that was not proposed; None where none is left or none is found by chance."""
        for _ in range(TRIES):
            point = self.space.random(self.chance)
            if point not in self.proposed:
                return point
        if self.space.size > LISTED:
            return None
        return next((p for p in self.space.points() if p not in self.proposed), None)

    def _good(self, n: int) -> list[Point]:
        """The best points that were right, best first."""
        right = [(score, point) for point, score in self.scores.items() if score < inf]
        return [point for _, point in sorted(right, key=lambda x: x[0])[:n]]


class RandomSearch(Search):
    """Points by chance: what every other search has to beat (Bergstra and Bengio 2012)."""

    def _wanted(self, n: int) -> Iterator[Point]:
        return iter(())


POPULATION = 16
MUTATION = 0.6
"""How likely a child is changed in one more knob after it was made of its parents."""


class GeneticSearch(Search):
    """A population of the best points; children mix two of them and change a knob.

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
        """One of the best, the better the likelier: the best of two taken by chance."""
        return parents[min(self.chance.randrange(len(parents)) for _ in range(2))]
