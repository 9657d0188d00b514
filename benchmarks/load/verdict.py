"""The figures of a run, and the criteria that they meet or do not meet."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.load.lesson import Lesson
from benchmarks.load.sampling import Sample, Spent
from benchmarks.load.tally import PAGE_KINDS, Request, Tally, percentile, slope

PAGE_LIMIT_S = 0.3
COMPILE_LIMIT_S = 3.0
N_ACTIVE = 30
GROWTH_PER_HOUR = 0.05
"""Memory counts as flat if it grows by at most this share of its median in an hour."""
_WARM_UP = 0.2
"""The share of a run whose samples do not count: imports and caches grow at first."""
_HOUR_S = 3600.0
_N_SLOPE = 400


@dataclass(frozen=True, slots=True)
class Criterion:
    """A condition of the run; `is_met` is None if nothing was measured."""

    words: str
    figure: str
    is_met: bool | None

    def line(self) -> str:
        """Return the criterion as a line."""
        verdict = {True: "met", False: "NOT MET", None: "not measured"}[self.is_met]
        return f"{verdict:>12}: {self.words} ({self.figure})"


@dataclass(frozen=True, slots=True)
class Growth:
    """Memory of the lasting processes in bytes, and its slope in bytes per hour."""

    median: float
    per_hour: float

    @property
    def share(self) -> float:
        """The growth within an hour as a share of the median."""
        return self.per_hour / self.median


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run, with everything that was measured."""

    options: Mapping[str, Any]
    tally: Tally
    lesson: Lesson
    samples: Sequence[Sample]
    lags_s: Sequence[float]
    spent: Spent
    stored_jobs: Mapping[str, int]


def growth(samples: Sequence[Sample]) -> Growth | None:
    """Return how the memory of the lasting processes grew after the warm-up; None if unknown."""
    if not samples:
        return None
    since_s = samples[0].at_s + _WARM_UP * (samples[-1].at_s - samples[0].at_s)
    kept = [each for each in samples if each.at_s >= since_s]
    kept = kept[:: max(1, len(kept) // _N_SLOPE)]
    points = [(each.at_s, float(each.steady.pss)) for each in kept]
    per_s = slope(points)
    return (
        None
        if math.isnan(per_s)
        else Growth(percentile([y for _, y in points], 0.5), per_s * _HOUR_S)
    )


def criteria(run: Run) -> list[Criterion]:
    """Return the criteria of a run."""
    tally = run.tally
    n_errors = tally.errors().total()
    page = percentile(tally.page_seconds(), 0.95)
    n_active = min(N_ACTIVE, run.lesson.n_seats)
    crowded = tally.compile_seconds(at_least=n_active)
    compiling = percentile(crowded, 0.95)
    grown = growth(run.samples)
    return [
        Criterion("no error", f"{n_errors} errors", n_errors == 0 if tally.requests else None),
        Criterion(
            f"p95 of page requests below {PAGE_LIMIT_S * 1e3:.0f} ms",
            f"{page * 1e3:.0f} ms",
            None if math.isnan(page) else page < PAGE_LIMIT_S,
        ),
        Criterion(
            f"p95 of small compilations below {COMPILE_LIMIT_S:g} s while {n_active} are active",
            f"{compiling:.2f} s of {len(crowded)}",
            None if math.isnan(compiling) else compiling < COMPILE_LIMIT_S,
        ),
        Criterion(
            f"memory grows by at most {GROWTH_PER_HOUR:.0%} per hour",
            f"{grown.share:+.1%} of {grown.median / 1e6:.0f} MB" if grown else "no processes",
            None if grown is None else grown.share <= GROWTH_PER_HOUR,
        ),
    ]


def by_route(requests: Sequence[Request]) -> dict[str, list[float]]:
    """Return the durations of requests by method and route."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    for each in requests:
        found[f"{each.method} {each.route}"].append(each.seconds)
    return dict(sorted(found.items(), key=lambda pair: -percentile(pair[1], 0.95)))


def figures(seconds: Sequence[float]) -> dict[str, float | int]:
    """Return number, percentiles and maximum of durations. Units: ms."""
    found = {f"p{n}_ms": 1e3 * percentile(seconds, n / 100) for n in (50, 95, 99)}
    rounded = {name: round(ms, 1) for name, ms in found.items() if not math.isnan(ms)}
    return {"n": len(seconds), **rounded, "max_ms": round(1e3 * max(seconds, default=0.0), 1)}


def to_json(run: Run) -> dict[str, Any]:
    """Return all figures of a run, and its series over time."""
    tally = run.tally
    grown = growth(run.samples)
    return {
        "options": dict(run.options),
        "criteria": [asdict(each) for each in criteria(run)],
        "requests": {
            "n": len(tally.requests),
            "limited": tally.limited(),
            "errors": dict(tally.errors()),
            "statuses": dict(Counter(str(each.status) for each in tally.requests)),
            "bytes": sum(each.n_bytes for each in tally.requests),
            "page": figures(tally.page_seconds()),
            **{
                kind: figures([r.seconds for r in tally.requests if r.kind == kind])
                for kind in (*PAGE_KINDS, "change", "stream")
            },
            "routes": {name: figures(times) for name, times in by_route(tally.requests).items()},
        },
        "compilations": {
            "outcomes": dict(Counter(each.outcome for each in tally.compilations)),
            "all": figures(tally.compile_seconds()),
            f"active_{N_ACTIVE}": figures(tally.compile_seconds(at_least=N_ACTIVE)),
            "waited": figures([c.waited_s for c in tally.compilations if c.outcome == "finished"]),
            "n_most_active": run.lesson.n_most(),
            "share_of_time_active": run.lesson.active_share(min(N_ACTIVE, run.lesson.n_seats)),
            "calls": run.lesson.n_calls,
            "other_jobs": dict(tally.other_jobs),
            "stored_jobs": dict(run.stored_jobs),
        },
        "memory": asdict(grown) | {"growth_per_hour": grown.share} if grown else None,
        "processor": asdict(run.spent) | {"client_lag_ms": figures(run.lags_s)},
        "series": {
            "samples": [
                {
                    "at_s": round(each.at_s, 1),
                    "steady": asdict(each.steady),
                    "all": asdict(each.all),
                    "uses": {name: asdict(use) for name, use in each.uses.items()},
                    "disk": each.disk,
                }
                for each in run.samples
            ],
            "compilations": [asdict(each) for each in tally.compilations],
        },
    }
