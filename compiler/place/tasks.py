"""Task graphs: tasks and the data between them, the input of schedulers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property

from compiler.dataclass import dataclass
from compiler.ir.operator import Cost

NO_COST = Cost()


@dataclass(frozen=True, slots=True)
class Datum:
    """A value: its size in bytes, and its role.

    A datum that no task computes is initially in the home memory. A weight is a constant. A result
    of the graph must finally be in the home memory.
    """

    name: str
    nbytes: int
    is_weight: bool = False
    is_result: bool = False


@dataclass(frozen=True, slots=True)
class Task:
    """A task: one kernel, which runs on one device.

    `reads` and `makes` are the names of operands and results. `seconds` maps devices to measured or
    otherwise known times. For devices without a known time, the roofline model estimates the time
    from `cost`.
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

    Data are in the order of the tasks that compute them; an input may be at any position before its
    first reader.
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
        """Return the position of the task that computes each datum; none for inputs."""
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
        """Set the times of all tasks on a device, in task order; None uses the roofline model."""
        pairs = zip(self.tasks, seconds, strict=True)
        tasks = tuple(
            t if s is None else replace(t, seconds={**t.seconds, device: s}) for t, s in pairs
        )
        return replace(self, tasks=tasks)

    def __str__(self) -> str:
        from compiler.place.tasks_text import print_tasks

        return print_tasks(self)
