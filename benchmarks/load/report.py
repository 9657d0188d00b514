"""The report of a run as text."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from benchmarks.load.processes import Use
from benchmarks.load.sampling import Sample
from benchmarks.load.tally import PAGE_KINDS, percentile
from benchmarks.load.verdict import N_ACTIVE, Run, by_route, criteria, growth

_SLOWEST = 8
_MB = 1e6


def lines(run: Run) -> Iterator[str]:
    """Yield the lines of the report."""
    yield from _requests(run)
    yield from _compilations(run)
    yield from _server(run)
    yield ""
    yield from (each.line() for each in criteria(run))


def _requests(run: Run) -> Iterator[str]:
    tally = run.tally
    n = len(tally.requests)
    statuses = Counter(each.status for each in tally.requests)
    shown = ", ".join(f"{status or 'no answer'}: {k:,}" for status, k in sorted(statuses.items()))
    n_bytes = sum(each.n_bytes for each in tally.requests)
    rate = n / run.lesson.seconds
    yield f"{n:,} requests ({rate:.1f} per s, {n_bytes / _MB:.0f} MB): {shown}"
    yield f"beyond a rate limit: {tally.limited()}; errors: {tally.errors().total()}"
    for words, k in tally.errors().most_common():
        yield f"  {k:>6}  {words}"
    yield f"page requests: {_percentiles(tally.page_seconds())}"
    for kind in PAGE_KINDS:
        yield f"  {kind:<7} {_percentiles([r.seconds for r in tally.requests if r.kind == kind])}"
    changes = [r.seconds for r in tally.requests if r.kind == "change"]
    yield f"changes (uploads, new jobs, cancellations, links): {_percentiles(changes)}"
    yield "slowest routes by p95:"
    for name, seconds in list(by_route(tally.requests).items())[:_SLOWEST]:
        yield f"  {name:<44} {_percentiles(seconds)}"


def _compilations(run: Run) -> Iterator[str]:
    tally, lesson = run.tally, run.lesson
    outcomes = Counter(each.outcome for each in tally.compilations)
    yield f"compilations: {_counts(outcomes)}; other jobs: {_counts(tally.other_jobs)}"
    yield (
        f"active at the same time: at most {lesson.n_most()} of {lesson.n_seats} permitted; "
        f"{N_ACTIVE} or more during {lesson.active_share(N_ACTIVE):.1%} of the time; "
        f"the class was called {lesson.n_calls} times"
    )
    finished = [c for c in tally.compilations if c.outcome == "finished"]
    yield f"  from request to end:  {_percentiles([c.seconds for c in finished])}"
    yield f"  {N_ACTIVE} active meanwhile: {_percentiles(tally.compile_seconds(N_ACTIVE))}"
    yield f"  waiting in the queue: {_percentiles([c.waited_s for c in finished])}"
    yield f"  running:              {_percentiles([c.seconds - c.waited_s for c in finished])}"


def _server(run: Run) -> Iterator[str]:
    spent = run.spent
    yield (
        f"processors: client {spent.client:.0%}, server {spent.server:.0%}, "
        f"other programs {spent.others:.0%} of one processor"
    )
    yield f"delay of the client's timers: {_percentiles(run.lags_s)}"
    if run.stored_jobs:
        yield f"stored jobs: {_counts(run.stored_jobs)}"
    if not run.samples:
        return
    if grown := growth(run.samples):
        yield (
            f"memory (PSS) of the lasting processes: median {grown.median / _MB:.0f} MB, "
            f"slope {grown.per_hour / _MB:+.1f} MB per hour"
        )
    yield f"  with the children of jobs: at most {max(s.all.pss for s in run.samples) / _MB:.0f} MB"
    for name in run.samples[-1].uses:
        uses = [each.uses[name] for each in run.samples if name in each.uses]
        yield f"  {name:<12} {_uses(uses)}"
    yield f"open descriptors: {_span([each.steady.n_files for each in run.samples])}"
    yield from _disk(run.samples)


def _uses(uses: Sequence[Use]) -> str:
    memory = [each.pss / _MB for each in uses]
    return f"{uses[0].n}, {memory[0]:.0f} MB at first, {memory[-1]:.0f} MB at the end"


def _disk(samples: Sequence[Sample]) -> Iterator[str]:
    found = [each.disk for each in samples if each.disk is not None]
    if found:
        last = sorted(found[-1].items(), key=lambda pair: -pair[1])
        shown = ", ".join(f"{name} {n / _MB:.1f} MB" for name, n in last)
        yield f"data folder: {sum(found[0].values()) / _MB:.1f} MB at first; at the end {shown}"


def _percentiles(seconds: Sequence[float]) -> str:
    if not seconds:
        return "none"
    p50, p95, p99 = (1e3 * percentile(seconds, share) for share in (0.5, 0.95, 0.99))
    assert not math.isnan(p50)
    return f"p50 {p50:.0f}, p95 {p95:.0f}, p99 {p99:.0f} ms of {len(seconds):,}"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{n:,} {words}" for words, n in sorted(counts.items())) or "none"


def _span(numbers: Sequence[int]) -> str:
    return f"{numbers[0]} at first, {numbers[-1]} at the end, at most {max(numbers)}"
