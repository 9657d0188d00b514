"""Tasks and the data between them: a scheduler's view of a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property

from compiler.dataclass import dataclass
from compiler.ir.operator import Cost

NO_COST = Cost()


@dataclass(frozen=True, slots=True)
class Datum:
    """A value: its bytes and its role.

    A datum that no task makes is in the home memory at the start. A weight is a constant. A result
    must be in the home memory at the end.
    """

    name: str
    nbytes: int
    is_weight: bool = False
    is_result: bool = False


@dataclass(frozen=True, slots=True)
class Task:
    """One kernel on one device.

    `reads` and `makes` are names of data. `seconds` has measured or otherwise known times by
    device; for other devices, the roofline determines the time from `cost`.
    """

    name: str
    operators: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    makes: tuple[str, ...] = ()
    cost: Cost = NO_COST
    seconds: Mapping[str, float] = field(default_factory=dict)
    origins: tuple[str, ...] = ()


@dataclass(frozen=True)
class TaskGraph:
    """Tasks in a topological order, and their data.

    Data are in the order of the tasks that make them; inputs come anywhere before their first
    reader.
    """

    name: str
    tasks: tuple[Task, ...]
    data: tuple[Datum, ...]

    @cached_property
    def datum(self) -> Mapping[str, Datum]:
        """Return data by name."""
        return {d.name: d for d in self.data}

    @cached_property
    def maker(self) -> Mapping[str, int]:
        """Return the position of the task that makes each datum; inputs have none."""
        return {m: i for i, t in enumerate(self.tasks) for m in t.makes}

    @cached_property
    def readers(self) -> Mapping[str, tuple[int, ...]]:
        """Return the positions of the tasks that read each datum."""
        found: dict[str, list[int]] = {d.name: [] for d in self.data}
        for i, t in enumerate(self.tasks):
            for r in dict.fromkeys(t.reads):
                found[r].append(i)
        return {name: tuple(at) for name, at in found.items()}

    def with_seconds(self, device: str, seconds: Sequence[float | None]) -> TaskGraph:
        """Set the tasks' times on a device, in their order; None uses the roofline."""
        pairs = zip(self.tasks, seconds, strict=True)
        tasks = tuple(
            t if s is None else replace(t, seconds={**t.seconds, device: s}) for t, s in pairs
        )
        return replace(self, tasks=tasks)

    def __str__(self) -> str:
        from compiler.place.tasks_text import print_tasks

        return print_tasks(self)
