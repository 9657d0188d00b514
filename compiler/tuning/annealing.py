"""Search with a learned cost model, which selects the candidates to measure.

The model consists of gradient-boosted trees (XGBoost, Chen and Guestrin 2016). Before each batch,
the model is retrained on all measurements so far, including those of other computations. The model
predicts the time of a schedule relative to the time of the policy's schedule. The inputs of the
model are the schedule's features and their differences from the features of the policy's schedule.
Simulated annealing explores the space by predictions only; the best visited points are then
measured. Some measured points are random, so the model also learns from its errors. Source:
AutoTVM, Chen et al. 2018 (arXiv:1805.08166).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import cache
from importlib.util import find_spec
from math import exp, inf, log
from typing import Any

import numpy as np

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.tuning.search import Describe, Search
from compiler.tuning.space import Point, Space

FIRST = 12
"""The number of measured points, over all computations, before the first training of the model."""

EPSILON = 0.2
"""The fraction of measured points that are chosen at random, after the first training."""

CHAINS = 12
STEPS = 16
HOTTEST = 0.3
"""The initial temperature, as a logarithm of time; at this temperature, a slowdown by a factor of
1.35 is often accepted."""

BAD = log(3.0)
"""The logarithm of the relative time that is assigned to rejected candidates in training."""

N_TREES = 60


INSTALL = f"pip install 'xgboost{'-cpu' if sys.platform == 'linux' else ''}>=3.2,<4'"
"""The command that installs the learned cost model."""


@cache
def has_model() -> bool:
    """Return whether XGBoost is installed."""
    return find_spec("xgboost") is not None


@dataclass
class Experience:
    """Training data: features of candidates, and the logarithms of their relative times."""

    features: list[list[float]] = field(default_factory=list)
    wanted: list[float] = field(default_factory=list)

    def add(self, features: list[float], score: float) -> None:
        """Add a candidate's features and score; an infinite score marks a rejected candidate."""
        self.features.append(features)
        self.wanted.append(min(log(score), BAD) if score < inf else BAD)


class AnnealingSearch(Search):
    """Simulated annealing on predicted times; the model learns from measurements of all searches.

    Errors: E-TUNE-MODEL if XGBoost is not installed.
    """

    def __init__(
        self,
        space: Space,
        seed: int,
        describe: Describe,
        experience: Experience | None = None,
    ) -> None:
        super().__init__(space, seed, describe)
        if not has_model():
            raise CompileError(
                "E-TUNE-MODEL",
                "the learned cost model needs the package xgboost",
                hint=f"{INSTALL}, or tune with --search genetic",
            )
        self.seed = seed
        self.experience = Experience() if experience is None else experience
        self._features: dict[Point, list[float]] = {}
        self._origin = describe(space.default)

    def learn(self, point: Point, score: float) -> None:
        """Record the measured score of a point."""
        super().learn(point, score)
        self.experience.add(self._described(point), score)

    def _wanted(self, n: int) -> Iterator[Point]:
        if len(self.experience.wanted) < FIRST:
            yield from self._near_best(n)
            return
        model = self._trained()
        visited = self._walked(model)
        self.promised = exp(min(visited.values(), default=inf))
        self.expected.update((point, exp(cost)) for point, cost in visited.items())
        for point in sorted(visited, key=visited.__getitem__):
            if self.chance.random() < EPSILON:
                yield self.space.random(self.chance)
            yield point

    def _near_best(self, n: int) -> Iterator[Point]:
        """Yield neighbours of the best points for half of a batch; the other half is random."""
        for _ in range(n // 2):
            yield self.space.neighbour(self._good(1)[0], self.chance)

    def _trained(self) -> Any:
        import xgboost

        known = self.experience
        features = np.array(known.features, np.float32)
        data = xgboost.DMatrix(features, label=np.array(known.wanted))
        options = {
            "max_depth": 5,
            "eta": 0.2,
            "min_child_weight": 1,
            "subsample": 1.0,
            "nthread": 1,
            "seed": self.seed,
            "verbosity": 0,
        }
        return xgboost.train(options, data, num_boost_round=N_TREES)

    def _predicted(self, model: Any, points: Sequence[Point]) -> list[float]:
        import xgboost

        described = np.array([self._described(p) for p in points], np.float32)
        return [float(x) for x in model.predict(xgboost.DMatrix(described))]

    def _described(self, point: Point) -> list[float]:
        if point not in self._features:
            own = self.describe(point)
            moved = [a - b for a, b in zip(own, self._origin, strict=True)]
            self._features[point] = [*own, *moved]
        return self._features[point]

    def _walked(self, model: Any) -> dict[Point, float]:
        """Return all points that the annealing chains visit, each with its predicted score."""
        starts = self._good(CHAINS // 2)
        at = [*starts, *(self.space.random(self.chance) for _ in range(CHAINS - len(starts)))]
        here = self._predicted(model, at)
        visited = dict(zip(at, here, strict=True))
        for step in range(STEPS):
            temperature = HOTTEST * (1 - step / STEPS) + 1e-6
            there = [self.space.neighbour(p, self.chance) for p in at]
            costs = self._predicted(model, there)
            for i, (point, cost) in enumerate(zip(there, costs, strict=True)):
                visited[point] = cost
                worse = cost - here[i]
                if worse <= 0 or self.chance.random() < exp(-worse / temperature):
                    at[i], here[i] = point, cost
        return {p: cost for p, cost in visited.items() if p not in self.proposed}
