"""What a planner is: a declaration with words, a source and an executed example.

A planner places the blocks of a problem (compiler/memory/problem.py) and knows nothing of graphs.
What it hands back says besides how low a plan could be at most, and why it stopped.
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
"""Why a planner stopped: the plan is as small as the proven bound; it is within the capacity; it is
proven that no plan is; the time was over; the method has nothing more to try."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a planner may use and when it may stop. Units: seconds, bytes.

    With a capacity, a planner stops at the first plan within it. `time_limit_s` holds for
    planners that search.
    """

    time_limit_s: float = 1.0
    capacity_bytes: int | None = None
    seed: int = 0

    def deadline(self) -> float:
        """The time, by native.now(), at which a planner that starts now has to stop."""
        return now() + self.time_limit_s

    def wanted_bytes(self, problem: Problem) -> int:
        """A plan of this size is good enough: the capacity, or the lower bound if that is more."""
        return max(problem.lower_bound_bytes, self.capacity_bytes or 0)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a planner found: the plan, what is proven, and why it stopped.

    There always is a plan; where none within the capacity was found, it is the best one known.
    `lower_bound_bytes` is proven: no plan is smaller. `planner` is the one that made the plan,
    where several were asked.
    """

    plan: Plan
    lower_bound_bytes: int
    stopped: Stopped
    planner: str = ""

    @property
    def gap(self) -> float:
        """How much larger the plan is than the proven bound; 0.01 is one percent."""
        bound = self.lower_bound_bytes
        return self.plan.peak_bytes / bound - 1 if bound else 0.0


def placed(
    problem: Problem,
    offsets: Sequence[int],
    options: Options | None = None,
    stopped: Stopped = "finished",
) -> Outcome:
    """The outcome for offsets of all blocks; `stopped` where no better reason shows."""
    plan = problem.plan(offsets)
    if plan.peak_bytes <= problem.lower_bound_bytes:
        stopped = "optimal"
    elif options and options.capacity_bytes is not None:
        stopped = "within capacity" if plan.peak_bytes <= options.capacity_bytes else stopped
    return Outcome(plan, problem.lower_bound_bytes, stopped)


Method = Callable[[Problem, Options], Outcome]


@dataclass(frozen=True, slots=True, eq=False)
class Planner:
    """A way to plan. The example is a problem and the plan that `plan` makes of it, as text.

    `searches` says that it uses the time limit; `needs` names a package that it cannot do without.
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
        """The first line of the words."""
        return self.words.split("\n", 1)[0]

    def plan(self, problem: Problem, options: Options | None = None) -> Outcome:
        """Place all blocks of a problem. Errors: E-PLAN-PACKAGE when a package is missing."""
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

    `source` names the paper or system that it follows.
    """

    def declare(method: Method) -> Planner:
        words = inspect.getdoc(method) or ""
        assert words, f"{method.__name__} has no words"
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
