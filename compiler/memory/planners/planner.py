"""The declaration of planners: a description, a source and an executed example.

A planner assigns an offset to each block of a problem (compiler/memory/problem.py), without
knowledge of graphs. Its outcome includes a proven lower bound and the reason for stopping.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Literal

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.memory.buffer import Plan
from compiler.memory.planners.native import now
from compiler.memory.problem import Problem

Stopped = Literal["optimal", "within capacity", "infeasible", "time", "finished"]
"""The reason for stopping. "optimal": the plan is as small as the proven bound. "within capacity":
the plan fits the capacity. "infeasible": it is proven that no plan fits the capacity. "time": the
time limit is reached. "finished": the method has ended without any of these results."""


@dataclass(frozen=True, slots=True)
class Options:
    """Limits of a planner. Units: seconds, bytes.

    With a capacity, a planner stops at the first plan within the capacity. `time_limit_s` applies
    to planners that search.
    """

    time_limit_s: float = 1.0
    capacity_bytes: int | None = None
    seed: int = 0

    def deadline(self) -> float:
        """Return the time, by native.now(), at which a planner that starts now must stop."""
        return now() + self.time_limit_s

    def wanted_bytes(self, problem: Problem) -> int:
        """Return the plan size at which a search stops: the larger of capacity and lower bound."""
        return max(problem.lower_bound_bytes, self.capacity_bytes or 0)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a planner: the plan, the proven bound, and the reason for stopping.

    `plan` is the best plan known, even if it exceeds the capacity. No plan is smaller than
    `lower_bound_bytes`. `planner` names the planner that found the plan, if several ran.
    """

    plan: Plan
    lower_bound_bytes: int
    stopped: Stopped
    planner: str = ""

    @property
    def gap(self) -> float:
        """Return the relative excess of the plan over the proven bound; 0.01 is 1 %."""
        bound = self.lower_bound_bytes
        return self.plan.peak_bytes / bound - 1 if bound else 0.0


def placed(
    problem: Problem,
    offsets: Sequence[int],
    options: Options | None = None,
    stopped: Stopped = "finished",
) -> Outcome:
    """Return the outcome for given offsets of all blocks.

    The reason for stopping is "optimal" or "within capacity" if this is true of the plan, else
    `stopped`.
    """
    plan = problem.plan(offsets)
    if plan.peak_bytes <= problem.lower_bound_bytes:
        stopped = "optimal"
    elif options and options.capacity_bytes is not None:
        stopped = "within capacity" if plan.peak_bytes <= options.capacity_bytes else stopped
    return Outcome(plan, problem.lower_bound_bytes, stopped)


Method = Callable[[Problem, Options], Outcome]


@dataclass(frozen=True, slots=True, eq=False)
class Planner:
    """A planner; `example` is a problem and the plan that `plan` returns for it, as text.

    `searches` states that the planner uses the time limit; `needs` names a required package.
    """

    name: str
    words: str
    source: str
    method: Method
    searches: bool
    needs: str
    example: str

    @property
    def title(self) -> str:
        """Return the first line of the description."""
        return self.words.split("\n", 1)[0]

    def plan(self, problem: Problem, options: Options | None = None) -> Outcome:
        """Place all blocks of a problem. Errors: E-PLAN-PACKAGE for a missing package."""
        if self.needs and find_spec(self.needs) is None:
            raise CompileError(
                "E-PLAN-PACKAGE", f"the planner {self.name} needs the package {self.needs}"
            )
        found = self.method(problem, options or Options())
        return found if found.planner else replace(found, planner=self.name)


def planner(
    *, source: str, example: str, searches: bool = False, needs: str = ""
) -> Callable[[Method], Planner]:
    """Declare a function `(problem, options) -> Outcome` as the planner named after it.

    `source` names the paper or system that the planner implements.
    """

    def declare(method: Method) -> Planner:
        words = inspect.getdoc(method) or ""
        assert words, f"{method.__name__} has no docstring"
        return Planner(
            method.__name__,
            words,
            source,
            method,
            searches,
            needs,
            textwrap.dedent(example).strip(),
        )

    return declare
