"""Schedules: the simulated times of tasks on devices and of transfers on links."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, field
from functools import cached_property
from typing import Any, TypeVar

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.place.placement import Slot
from compiler.place.tasks import TaskGraph

VERSION = 1


@dataclass(frozen=True, slots=True)
class Move:
    """A transfer of a datum over one link; a longer route has one transfer per link.

    Units: seconds.
    """

    datum: str
    link: str
    source: str
    to: str
    start: float
    end: float


@dataclass(frozen=True)
class Schedule:
    """The start and end times of each task and transfer.

    `peak_bytes` maps each memory to its peak occupancy. `ahead` is the prefetch distance of
    operands as a number of tasks (None for unlimited). `bound_seconds` is a lower bound of the
    makespan of all schedules of the same tasks. `held_bytes` maps each memory to its occupancy over
    time, as pairs of seconds and bytes.
    """

    platform: str
    slots: tuple[Slot, ...]
    moves: tuple[Move, ...] = ()
    peak_bytes: Mapping[str, int] = field(default_factory=dict)
    ahead: int | None = None
    bound_seconds: float = 0.0
    notes: tuple[str, ...] = ()
    held_bytes: Mapping[str, tuple[tuple[float, int], ...]] = field(default_factory=dict)

    @cached_property
    def makespan_seconds(self) -> float:
        """Return the end of the last task or transfer."""
        return max((x.end for x in (*self.slots, *self.moves)), default=0.0)

    @property
    def gap(self) -> float:
        """Return the relative gap between makespan and lower bound; 0 for an optimal schedule."""
        bound = self.bound_seconds
        return max(self.makespan_seconds / bound - 1, 0.0) if bound else 0.0

    @cached_property
    def busy_seconds(self) -> Mapping[str, float]:
        """Return the busy time of each device and link."""
        found: dict[str, float] = defaultdict(float)
        for s in self.slots:
            found[s.device] += s.end - s.start
        for m in self.moves:
            found[m.link] += m.end - m.start
        return dict(found)

    def to_json(self, graph: TaskGraph) -> dict[str, Any]:
        """Return the schedule as JSON data, with operators and origins of tasks."""
        critical = {id(x) for x in critical_path(graph, self)}
        tasks = {t.name: t for t in graph.tasks}
        return {
            "version": VERSION,
            "platform": self.platform,
            "makespan_seconds": self.makespan_seconds,
            "bound_seconds": self.bound_seconds,
            "ahead": self.ahead,
            "notes": list(self.notes),
            "peak_bytes": dict(self.peak_bytes),
            "busy_seconds": dict(self.busy_seconds),
            "held_bytes": {m: [list(x) for x in course] for m, course in self.held_bytes.items()},
            "tasks": [
                {
                    **asdict(s),
                    "operators": list(tasks[s.task].operators),
                    "origins": list(tasks[s.task].origins),
                    "is_critical": id(s) in critical,
                }
                for s in self.slots
            ],
            "moves": [
                {
                    **asdict(m),
                    "nbytes": graph.datum[m.datum].nbytes,
                    "task": _task_of(graph, m.datum),
                    "is_critical": id(m) in critical,
                }
                for m in self.moves
            ],
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Schedule:
        """Parse the result of `to_json`. Errors: E-TASKS-TEXT for other data."""
        try:
            if data["version"] != VERSION:
                raise ValueError(f"version {data['version']}")
            held = {
                _text(m): tuple((_seconds(t), _count(n)) for t, n in x)
                for m, x in data["held_bytes"].items()
            }
            return Schedule(
                _text(data["platform"]),
                tuple(_activity(Slot, t) for t in data["tasks"]),
                tuple(_activity(Move, m) for m in data["moves"]),
                {_text(m): _count(n) for m, n in data["peak_bytes"].items()},
                None if data["ahead"] is None else _count(data["ahead"]),
                _seconds(data["bound_seconds"]),
                tuple(_text(n) for n in data["notes"]),
                held,
            )
        except (KeyError, TypeError, ValueError, AttributeError) as e:
            raise CompileError("E-TASKS-TEXT", f"this is not a schedule: {e}") from e


A = TypeVar("A", Slot, Move)


def _activity(kind: type[A], row: Mapping[str, Any]) -> A:
    """Parse a slot or a move; the fields `start` and `end` are times, all others are names."""
    times = ("start", "end")
    found: dict[str, Any] = {
        k: _seconds(row[k]) if k in times else _text(row[k]) for k in kind.__slots__
    }
    return kind(**found)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected a text, got {value!r:.60}")
    return value


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"expected a whole number of at least 0, got {value!r:.60}")
    return value


def _seconds(value: Any) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 <= value < math.inf:
        raise ValueError(f"expected at least 0 seconds, got {value!r:.60}")
    return value


def _task_of(graph: TaskGraph, datum: str) -> str:
    """Return the task that computes a datum; for an input of the graph, its first reader."""
    made = graph.maker.get(datum)
    at = graph.readers[datum][0] if made is None and graph.readers[datum] else made
    return "" if at is None else graph.tasks[at].name


Activity = Slot | Move

SAME = 1e-9
"""The relative difference below which times count as equal."""


def critical_path(graph: TaskGraph, schedule: Schedule) -> list[Activity]:
    """Return the activities of the critical path: shortening any other activity saves no time.

    The critical path is traced back from the last activity. Candidates for the predecessor of an
    activity are the previous activity on the same device or link, and the producers and transfers
    of its operands. The candidate that ends last is the predecessor on the critical path.
    """
    if not schedule.slots:
        return []
    related = _Related(graph, schedule)
    slack = SAME * schedule.makespan_seconds
    at: Activity | None = max((*schedule.slots, *schedule.moves), key=lambda x: x.end)
    path: list[Activity] = []
    seen: set[int] = set()

    def cause(of: Activity) -> Activity | None:
        ended = (x for x in related.to(of) if x.end <= of.start + slack and id(x) not in seen)
        return max(ended, key=lambda x: (x.end, -x.start), default=None)

    while at is not None:
        path.append(at)
        seen.add(id(at))
        before = cause(at) if at.start > slack else None
        if before is not None and before.end < at.start - slack:
            # A prefetch that started together with the task before its reader has the same
            # predecessors as that task.
            beside = (x for x in related.to(at) if abs(x.start - at.start) <= slack and x is not at)
            together = next((x for x in beside if isinstance(x, Slot)), None)
            before = cause(together) if together is not None else before
        at = before
    return path[::-1]


class _Related:
    """The candidates for the predecessor of each activity."""

    def __init__(self, graph: TaskGraph, schedule: Schedule) -> None:
        self.graph = graph
        self.tasks = {t.name: t for t in graph.tasks}
        self.on: dict[str, list[Activity]] = defaultdict(list)
        self.makes: dict[str, Slot] = {}
        self.moves: dict[str, list[Move]] = defaultdict(list)
        for s in schedule.slots:
            self.on[s.device].append(s)
            self.makes.update((m, s) for m in self.tasks[s.task].makes)
        for m in schedule.moves:
            self.on[m.link].append(m)
            self.moves[m.datum].append(m)
        self.readers: dict[str, list[Slot]] = defaultdict(list)
        for s in schedule.slots:
            for r in self.tasks[s.task].reads:
                self.readers[r].append(s)

    def to(self, at: Activity) -> Iterable[Activity]:
        if isinstance(at, Slot):
            yield from self.on[at.device]
            data = self.tasks[at.task].reads
        else:
            yield from self.on[at.link]
            data = (at.datum,)
            # A prefetch limited by its distance waits for the tasks before its reader.
            for reader in self.readers[at.datum]:
                yield from self.on[reader.device]
        for d in data:
            if d in self.makes:
                yield self.makes[d]
            yield from self.moves[d]
