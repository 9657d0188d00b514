"""Search with a learned cost model: measure what a model of past measurements finds promising.

The model is gradient-boosted trees (XGBoost, Chen and Guestrin 2016) on the features of a schedule,
trained anew before each batch on all that was measured of this computation. Simulated annealing
walks through the space by the model's word alone, and the best points it passes are measured; some
points are taken by chance all the same, so that the model also learns where it is wrong. Source:
AutoTVM, Chen et al. 2018 (arXiv:1805.08166).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from math import exp, inf, log
from typing import Any

import numpy as np

from compiler.errors import CompileError
from compiler.tuning.search import Describe, Search
from compiler.tuning.space import Point, Space

FIRST = 12
"""So many points are measured by chance before there is a model."""

EPSILON = 0.2
"""The share of points that are taken by chance afterwards."""

CHAINS = 12
STEPS = 16
HOTTEST = 0.3
"""Temperatures are in logarithms of time: at first a step to 1.35 times the time is taken often."""

BAD = log(3.0)
"""What the model is told of candidates that were no good, as the logarithm of their time."""

N_TREES = 60


@cache
def has_model() -> bool:
    """Whether XGBoost is installed."""
    return find_spec("xgboost") is not None


class AnnealingSearch(Search):
    """Simulated annealing over predicted times. Errors: E-TUNE-MODEL without XGBoost."""

    def __init__(self, space: Space, seed: int, describe: Describe) -> None:
        super().__init__(space, seed, describe)
        if not has_model():
            raise CompileError(
                "E-TUNE-MODEL",
                "the learned cost model needs the package xgboost",
                hint="pip install compilarium[tuning], or tune with --search genetic",
            )
        self.seed = seed
        self._features: dict[Point, list[float]] = {}

    def _wanted(self, n: int) -> Iterator[Point]:
        if len(self.scores) < FIRST:
            yield from self._near_best(n)
            return
        model = self._trained()
        visited = self._walked(model)
        for point in sorted(visited, key=visited.__getitem__):
            if self.chance.random() < EPSILON:
                yield self.space.random(self.chance)
            yield point

    def _near_best(self, n: int) -> Iterator[Point]:
        """Half near what the policy chose, which is seldom far off; chance gives the rest."""
        for _ in range(n // 2):
            yield self.space.neighbour(self._good(1)[0], self.chance)

    def _trained(self) -> Any:
        import xgboost

        points = list(self.scores)
        wanted = [min(log(s), BAD) if s < inf else BAD for s in self.scores.values()]
        data = xgboost.DMatrix(self._described(points), label=np.array(wanted))
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

        return [float(x) for x in model.predict(xgboost.DMatrix(self._described(points)))]

    def _described(self, points: Sequence[Point]) -> Any:
        for point in points:
            if point not in self._features:
                self._features[point] = self.describe(point)
        return np.array([self._features[p] for p in points], np.float32)

    def _walked(self, model: Any) -> dict[Point, float]:
        """All points that the chains pass, with what the model says of them."""
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
