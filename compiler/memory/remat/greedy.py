"""Greedy rematerialisation: recompute the values that save the most bytes per unit of time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from compiler.memory.orders.tasks import Tasks
from compiler.memory.remat.repeated import Repeated

LONGEST = 6
"""Maximum length of the chain of tasks recomputed for one value."""


def recompute(
    tasks: Tasks | Repeated, costs: Sequence[float], limit_bytes: int, allowed: Collection[int]
) -> Repeated:
    """Recompute tasks until live bytes are within a limit, with few extra runs.

    `tasks` may already include extra runs. `costs` has the cost of one more run of each task,
    `allowed` the tasks that may be recomputed. Candidates are the values that are live during the
    task of peak memory, but that this task does not use. Each iteration recomputes the candidate
    that saves the most bytes above the limit per unit of cost. If operands of the candidate are
    dead, they may be recomputed too. The result may still exceed the limit.
    Source: greedy rematerialization, as in XLA.

    >>> recompute(Tasks((), (), (), (), (), ()), [], 0, ()).peak_bytes
    0
    """
    found = Repeated.of(tasks) if isinstance(tasks, Tasks) else tasks
    while found.peak_bytes > limit_bytes:
        best, best_gain = None, 0.0
        above = found.above(limit_bytes)
        at = max(range(len(found.tasks)), key=found.live.__getitem__)
        for further in _candidates(found, at, allowed):
            saved = above - further.above(limit_bytes)
            cost = sum(costs[further.origins[p]] for p in further.again)
            cost -= sum(costs[found.origins[p]] for p in found.again)
            if saved > 0 and (gain := saved / max(cost, 1e-12)) > best_gain:
                best, best_gain = further, gain
        if best is None:
            break
        found = best
    return found


def squeezed(tasks: Tasks, costs: Sequence[float], allowed: Collection[int]) -> Iterator[Repeated]:
    """Yield schedules with decreasing peaks and few extra runs, until no lower peak is found."""
    found = Repeated.of(tasks)
    while True:
        lower = recompute(found, costs, found.peak_bytes - 1, allowed)
        if lower.peak_bytes >= found.peak_bytes:
            return
        yield (found := lower)


def _candidates(found: Repeated, at: int, allowed: Collection[int]) -> Iterator[Repeated]:
    """Yield variants that recompute, after the task `at`, a value that this task does not use."""
    tasks = found.tasks
    touched = {*tasks.reads[at], *tasks.writes[at]}
    for t in range(at):
        values = tasks.writes[t]
        if found.origins[t] not in allowed or not touched.isdisjoint(values):
            continue
        later = {r for v in values for r in tasks.readers[v] if r > at}
        if later and tasks.kept.isdisjoint(values):
            yield from _chain(found, t, sorted(later), at, allowed, LONGEST)


def _chain(
    found: Repeated,
    task: int,
    readers: Sequence[int],
    at: int,
    allowed: Collection[int],
    length: int,
) -> Iterator[Repeated]:
    """Yield variants that recompute a task, then those that also recompute its dead operands."""
    again = found.with_again(task, readers)
    yield again
    new = readers[0]  # the position of the extra run
    tasks = again.tasks
    makers = {v: t for t, values in enumerate(tasks.writes) for v in values}
    lost = [v for v in tasks.reads[new] if v in makers and max(_other(tasks, v, new)) < at]
    sources = {makers[v] for v in lost}
    if length > 1 and len(sources) == 1:
        (source,) = sources
        if source < at and again.origins[source] in allowed:
            yield from _chain(again, source, [new], at, allowed, length - 1)


def _other(tasks: Tasks, value: int, reader: int) -> list[int]:
    """Return the readers of a value except `reader`, preceded by -1 so that a maximum exists."""
    return [-1, *(r for r in tasks.readers[value] if r != reader)]
