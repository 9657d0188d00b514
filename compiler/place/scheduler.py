"""Declarations of schedulers: each has a description, a source and an executed example."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable

from compiler.dataclass import dataclass
from compiler.place.placement import Placement, parse_placement
from compiler.place.platform import Platform
from compiler.place.platform_text import load_platform
from compiler.place.problem import Problem
from compiler.place.tasks import TaskGraph
from compiler.place.tasks_text import parse_tasks

Decide = Callable[[Problem, float], Placement]
"""A function from a problem to a placement. Only schedulers that search use the second parameter,
the time limit in seconds."""


@dataclass(frozen=True, slots=True, eq=False)
class Scheduler:
    """A scheduler; the function `decide` runs it. The example consists of tasks, the name of a
    platform, and the resulting placement.

    `is_quick` states that the scheduler is fast for graphs of any size.
    """

    name: str
    words: str
    source: str
    decide: Decide
    example: str
    is_quick: bool

    @property
    def title(self) -> str:
        """Return the first line of the scheduler's description."""
        return self.words.split("\n", 1)[0]

    def example_parts(self) -> tuple[TaskGraph, Platform, Placement]:
        """Return the tasks, the platform and the placement of the example."""
        before, _, after = self.example.partition("\n=>")
        platform, _, placed = after.partition("\n")
        tasks = parse_tasks(before)
        names = tuple(t.name for t in tasks.tasks)
        return tasks, load_platform(platform.strip()), parse_placement(placed, names)


def scheduler(
    *, source: str, example: str, name: str = "", quick: bool = True
) -> Callable[[Decide], Scheduler]:
    """Declare a function `(problem, limit_s) -> Placement` as the scheduler of the same name.

    `source` is the publication of the algorithm. `name` replaces the function's name for schedulers
    generated from a table.
    """

    def declare(fn: Decide) -> Scheduler:
        text = textwrap.dedent(example).strip()
        return Scheduler(name or fn.__name__, inspect.getdoc(fn) or "", source, fn, text, quick)

    return declare
