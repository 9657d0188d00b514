"""Looking for the best point of one space: propose, measure, learn, until it is time to stop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from compiler.tuning.judge import Verdict
from compiler.tuning.search import Search
from compiler.tuning.space import Point

Why = Literal["budget", "converged", "exhausted", "interrupted"]

BATCH = 6
"""Points proposed at once: the model is trained between batches."""

PATIENCE = 64
"""So many candidates in a row without a better one, and the search counts as converged."""

GAIN = 0.005
"""What counts as better."""


@dataclass
class Found:
    """The points of a search that were right and faster than the policy's, best first, and why it
    stopped."""

    better: list[tuple[float, Point]]
    why_stopped: Why
    outcomes: Counter[str] = field(default_factory=Counter)

    @property
    def n_tried(self) -> int:
        """Candidates that were looked at."""
        return sum(self.outcomes.values())


def explore(
    search: Search,
    measure: Callable[[list[Point]], list[Verdict]],
    seconds: float,
    clock: Callable[[], float],
    tell: Callable[[int, float], None] = lambda n, best: None,
) -> Found:
    """Search for some seconds of a clock, one batch at least; Ctrl-C ends it and keeps all.

    `tell` gets the number of candidates so far and the best score, as a part of the untuned time.
    """
    end = clock() + seconds
    outcomes: Counter[str] = Counter()
    best, since = 1.0, 0
    why: Why = "budget"
    try:
        while not outcomes or clock() < end:
            batch = search.propose(BATCH)
            if not batch:
                why = "exhausted"
                break
            for point, verdict in zip(batch, measure(batch), strict=True):
                outcomes[verdict.outcome] += 1
                search.learn(point, verdict.ratio)
                since += 1
                if verdict.ratio < best * (1 - GAIN):
                    best, since = verdict.ratio, 0
            tell(sum(outcomes.values()), best)
            if since >= PATIENCE:
                why = "converged"
                break
    except KeyboardInterrupt:
        why = "interrupted"
    scored = ((s, p) for p, s in search.scores.items() if p != search.space.default)
    better = sorted(((s, p) for s, p in scored if s < 1), key=lambda x: x[0])
    return Found(better, why, outcomes)
