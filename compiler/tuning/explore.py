"""Search of several spaces: each batch goes to the search with the largest expected gain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import field
from math import inf
from typing import Literal

from compiler.dataclass import dataclass
from compiler.tuning.judge import Verdict
from compiler.tuning.search import Search
from compiler.tuning.space import Point

Why = Literal["budget", "converged", "exhausted", "interrupted"]

BATCH = 6
"""The number of points in a batch; the model is trained between batches."""

PATIENCE = 64
"""The number of consecutive candidates without improvement after which a search has converged."""

GAIN = 0.005
"""The smallest relative speedup that counts as an improvement."""

TRUST = 0.25
"""The weight of the learned model's predicted gain when searches are compared."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A measured candidate; scores are relative to the time of the policy's schedule.

    `expected` is the prediction of the learned model, or None without a model. `best` is the best
    score so far."""

    kernel: str
    number: int
    schedule: str
    verdict: Verdict
    expected: float | None
    best: float


@dataclass
class Walk:
    """A search in progress. Units: seconds of one run of the model.

    `seconds` is the time of the untuned kernel in a run of the model; `room` is the maximum
    possible gain.
    """

    search: Search
    measure: Callable[[list[Point]], list[Verdict]]
    seconds: float = 1.0
    room: float = 1.0
    tell: Callable[[int, float], None] = lambda n, best: None
    name: str = ""
    watch: Callable[[Sequence[Trial]], None] = lambda trials: None
    why_stopped: Why = "budget"
    outcomes: Counter[str] = field(default_factory=Counter)
    n_batches: int = 0
    best: float = 1.0
    since: int = 0
    gained: float = inf
    """The gain of the last batch in seconds; infinite before the first batch."""

    @property
    def n_tried(self) -> int:
        """Return the number of candidates examined so far."""
        return sum(self.outcomes.values())

    @property
    def is_over(self) -> bool:
        """Return whether the search has converged or exhausted its space."""
        return self.why_stopped in ("converged", "exhausted")

    @property
    def promise(self) -> float:
        """Return the expected gain of another batch of this search.

        The expected gain is the largest of three numbers: the gain of the last batch, a fraction
        (`TRUST`) of the predicted gain, and a fraction of the possible gain. The learned model
        predicts the gain. The fraction of the possible gain shrinks with each batch.
        """
        left = max(self.room - self.seconds * (1 - self.best), 0.0) / (1 + self.n_batches)
        predicted = TRUST * self.seconds * max(self.best - self.search.promised, 0.0)
        recent = self.gained if self.n_batches else 0.0
        return max(left, predicted, recent)

    @property
    def better(self) -> list[tuple[float, Point]]:
        """Return the correct points that are faster than the policy's schedule, fastest first."""
        default = self.search.space.default
        scored = ((s, p) for p, s in self.search.scores.items() if p != default and s < 1)
        return sorted(scored, key=lambda x: x[0])

    def step(self) -> None:
        """Propose one batch of points, measure them, and let the search learn from the scores."""
        batch = self.search.propose(BATCH)
        if not batch:
            self.why_stopped = "exhausted"
            return
        before = self.best
        trials: list[Trial] = []
        for point, verdict in zip(batch, self.measure(batch), strict=True):
            self.outcomes[verdict.outcome] += 1
            self.search.learn(point, verdict.ratio)
            self.since += 1
            if verdict.ratio < self.best * (1 - GAIN):
                self.best, self.since = verdict.ratio, 0
            text, expected = self.search.space.text(point), self.search.expected.get(point)
            trials.append(Trial(self.name, self.n_tried, text, verdict, expected, self.best))
        self.gained = self.seconds * (before - self.best)
        self.n_batches += 1
        self.tell(self.n_tried, self.best)
        self.watch(trials)
        if self.since >= PATIENCE:
            self.why_stopped = "converged"


def explore(
    walks: Sequence[Walk],
    seconds: float,
    clock: Callable[[], float],
    stopped: Callable[[], bool] = lambda: False,
) -> None:
    """Search until a time limit, but at least one batch; Ctrl-C ends the search and keeps results.

    `stopped` is called between batches and can stop the search. Each batch of candidates goes to
    the most promising search.
    """
    end = clock() + seconds
    open_walks = [w for w in walks if not w.is_over]
    n_steps = 0
    while open_walks and (not n_steps or clock() < end):
        walk = max(open_walks, key=lambda w: w.promise)
        try:
            walk.step()
            if stopped():
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            for w in open_walks:
                w.why_stopped = "interrupted"
            return
        n_steps += 1
        open_walks = [w for w in open_walks if not w.is_over]
