"""What a scheduler is: a declaration with words, a source and an executed example."""

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
"""From a problem and a limit in seconds, which only those that search look at."""


@dataclass(frozen=True, slots=True, eq=False)
class Scheduler:
    """A way to place tasks: call `decide`. The example is tasks, the platform's name, and what
    becomes of them.

    `is_quick` says that it takes next to no time for graphs of any size.
    """

    name: str
    words: str
    source: str
    decide: Decide
    example: str
    is_quick: bool

    @property
    def title(self) -> str:
        """The first line of the words."""
        return self.words.split("\n", 1)[0]

    def example_parts(self) -> tuple[TaskGraph, Platform, Placement]:
        """The tasks of the example, where they are placed, and how."""
        before, _, after = self.example.partition("\n=>")
        platform, _, placed = after.partition("\n")
        tasks = parse_tasks(before)
        names = tuple(t.name for t in tasks.tasks)
        return tasks, load_platform(platform.strip()), parse_placement(placed, names)


def scheduler(
    *, source: str, example: str, name: str = "", quick: bool = True
) -> Callable[[Decide], Scheduler]:
    """Declare a function `(problem, limit_s) -> Placement` as the scheduler named after it.

    `source` is where the algorithm was published; `name` is for those that are rows of a table.
    """

    def declare(fn: Decide) -> Scheduler:
        text = textwrap.dedent(example).strip()
        return Scheduler(name or fn.__name__, inspect.getdoc(fn) or "", source, fn, text, quick)

    return declare
