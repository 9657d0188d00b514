"""The requests and compilations of a run, and what is counted of them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["html", "static", "api", "change", "stream"]
PAGE_KINDS: tuple[Kind, ...] = ("html", "static", "api")
"""The requests whose answers a reader awaits: pages, static files, and GET requests of the API."""
TOO_MANY = 429
NO_ANSWER = 0
"""The status of a request without an answer; its code is the reason."""
_ID = re.compile(r"(?<=/)(?:(?:\d{8}-)?[0-9a-f]{12,64}|\d+)(?=/|$)")


@dataclass(frozen=True, slots=True)
class Request:
    """An answered request. Units: `start_s` is the time since the start of the run."""

    kind: Kind
    method: str
    path: str
    start_s: float
    seconds: float
    status: int
    code: str = ""
    n_bytes: int = 0

    @property
    def is_error(self) -> bool:
        """Whether the answer is neither a success nor a documented rate limit."""
        return not 200 <= self.status < 400 and self.status != TOO_MANY

    @property
    def route(self) -> str:
        """The path without its query, with ids and numbers replaced."""
        path = self.path.partition("?")[0]
        if path.startswith("/s/"):
            return "/s/ID"
        return "/static" if self.kind == "static" else _ID.sub("ID", path)


@dataclass(frozen=True, slots=True)
class Compilation:
    """A compilation from its request to its terminal event.

    `n_active` is the largest number of compilations at the same time during this one.
    Units: `waited_s` is the time until a supervisor took the job.
    """

    start_s: float
    seconds: float
    waited_s: float
    outcome: str
    n_active: int


@dataclass
class Tally:
    """All that has happened in a run."""

    requests: list[Request] = field(default_factory=list[Request])
    compilations: list[Compilation] = field(default_factory=list[Compilation])
    other_jobs: Counter[str] = field(default_factory=Counter[str])
    """The other jobs of students by kind and outcome, such as "numerics finished"."""
    defects: Counter[str] = field(default_factory=Counter[str])
    """Answers of success with a content that the page cannot use, and jobs that failed."""

    def errors(self) -> Counter[str]:
        """Count the failed requests by method, route, status and code, and the defects."""
        failed = [r for r in self.requests if r.is_error]
        found = Counter(f"{r.method} {r.route}: {r.status or ''} {r.code}".strip() for r in failed)
        return found + self.defects

    def limited(self) -> int:
        """Count the requests beyond a rate limit."""
        return sum(r.status == TOO_MANY for r in self.requests)

    def page_seconds(self) -> list[float]:
        """Return the durations of the requests that a reader awaits."""
        return [r.seconds for r in self.requests if r.kind in PAGE_KINDS]

    def compile_seconds(self, at_least: int = 0) -> list[float]:
        """Return the durations of finished compilations beside at least this number of them."""
        return [
            c.seconds
            for c in self.compilations
            if c.outcome == "finished" and c.n_active >= at_least
        ]


def percentile(numbers: Iterable[float], share: float) -> float:
    """Return the smallest number that at least this share of the numbers do not exceed.

    NaN without numbers.

    >>> percentile([1.0, 2.0, 3.0, 4.0], 0.5)
    2.0
    """
    ordered = sorted(numbers)
    if not ordered:
        return math.nan
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Return the median slope of all pairs of points, which outliers hardly change (Theil 1950,
    Sen 1968). NaN for fewer than two places.

    >>> slope([(0.0, 1.0), (1.0, 3.0), (2.0, 5.0), (3.0, 900.0)])
    2.0
    """
    slopes = [
        (y1 - y0) / (x1 - x0)
        for i, (x0, y0) in enumerate(points)
        for x1, y1 in points[i + 1 :]
        if x1 != x0
    ]
    return percentile(slopes, 0.5)
