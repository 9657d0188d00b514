"""Tasks and the values that they hand to each other: what a scheduler sees of a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property

from compiler.dataclass import dataclass
from compiler.ir.operator import Cost

NO_COST = Cost()


@dataclass(frozen=True, slots=True)
class Datum:
    """A value: its bytes, and what else is to be known of it.

    One that no task makes is in the home memory at first. A weight is a constant. A result has to
    be in the home memory in the end.
    """

    name: str
    nbytes: int
    is_weight: bool = False
    is_result: bool = False


@dataclass(frozen=True, slots=True)
class Task:
    """What one device does at once: a kernel.

    `reads` and `makes` are names of data. `seconds` has by device what was measured or is otherwise
    known; the other devices take what their rooflines say of `cost`.
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
    """Tasks in an order in which they can run, and their data.

    Data stand in the order of the tasks that make them; those that are given stand anywhere before
    the first task that reads them.
    """

    name: str
    tasks: tuple[Task, ...]
    data: tuple[Datum, ...]

    @cached_property
    def datum(self) -> Mapping[str, Datum]:
        """Data by name."""
        return {d.name: d for d in self.data}

    @cached_property
    def maker(self) -> Mapping[str, int]:
        """The position of the task that makes each datum; without those that are given."""
        return {m: i for i, t in enumerate(self.tasks) for m in t.makes}

    @cached_property
    def readers(self) -> Mapping[str, tuple[int, ...]]:
        """The positions of the tasks that read each datum."""
        found: dict[str, list[int]] = {d.name: [] for d in self.data}
        for i, t in enumerate(self.tasks):
            for r in dict.fromkeys(t.reads):
                found[r].append(i)
        return {name: tuple(at) for name, at in found.items()}

    def with_seconds(self, device: str, seconds: Sequence[float | None]) -> TaskGraph:
        """The tasks with times on a device, in their order; None leaves it to the roofline."""
        pairs = zip(self.tasks, seconds, strict=True)
        tasks = tuple(
            t if s is None else replace(t, seconds={**t.seconds, device: s}) for t, s in pairs
        )
        return replace(self, tasks=tasks)

    def __str__(self) -> str:
        from compiler.place.tasks_text import print_tasks

        return print_tasks(self)
