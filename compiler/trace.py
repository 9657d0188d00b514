"""The trace: what happened during a compilation, in order, with reasons, costs and seconds.

The driver makes one `Event` per pass; the pass tells its `Log` about each rewrite it applied and
each one it considered and declined. Graphs are immutable, so `before` and `after` are references.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable
from dataclasses import field
from time import perf_counter
from typing import Literal, NamedTuple

from compiler.dataclass import dataclass
from compiler.ir.graph import Graph, Node
from compiler.ir.operator import Cost

Outcome = Literal["applied", "declined"]


@dataclass(frozen=True, slots=True)
class Step:
    """One rewrite that fired, or that was considered and declined.

    `took` names the nodes (or constants) it consumed, `made` those it produced; `at` is the value
    where it was matched. `error` is what results may change by, relative to their scale; 0 where
    every bit stays. `source` is the file and line of the rule. `cost_before` and `cost_after` are
    those of what it took and made, None where sizes are open. `seconds` passed since the step
    before it: matching included.
    """

    rule: str
    outcome: Outcome
    because: str
    at: str
    took: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    error: float = 0.0
    source: str = ""
    cost_before: Cost | None = None
    cost_after: Cost | None = None
    seconds: float = 0.0

    @property
    def exact(self) -> bool:
        """Whether results keep every bit."""
        return self.error == 0


class Decision(NamedTuple):
    """A rewrite that is about to be done: the pass, the rule, and the value where it matched."""

    pass_name: str
    rule: str
    at: str


Gate = Callable[[Decision], bool]
"""Asked before each rewrite; False keeps it from being done."""


class AllBut:
    """The gate that keeps the rewrites of some rules from being done; `asked` is what it saw."""

    def __init__(self, rules: Collection[str]) -> None:
        self.rules = frozenset(rules)
        self.asked: set[str] = set()

    def __call__(self, decision: Decision) -> bool:
        """Whether the rewrite may be done."""
        self.asked.add(decision.rule)
        return decision.rule not in self.rules


Watch = Callable[[Step, Graph, Graph], None]
"""Called after each rewrite of a rule with the matched part as a graph, before and after."""


@dataclass(slots=True)
class Log:
    """What a pass writes its steps to, and asks before each rewrite."""

    steps: list[Step] = field(default_factory=list)
    keep_declined: bool = True
    pass_name: str = ""
    gate: Gate | None = None
    watch: Watch | None = None
    last: float = field(default_factory=perf_counter)
    """When the last step was written."""

    def inside(self) -> Log:
        """A log of its own for a graph inside this one, with the same gate and watch."""
        return Log([], self.keep_declined, self.pass_name, self.gate, self.watch)

    def may(self, rule: str, at: str, objection: str = "", took: Iterable[Node | str] = ()) -> bool:
        """Whether a rewrite may be done; one that may not is recorded as declined, and why."""
        if not objection and not self._is_allowed(rule, at):
            objection = "it is switched off for this compilation"
        if objection:
            self.declined(rule, at, objection, took, _caller())
        return not objection

    def _is_allowed(self, rule: str, at: str) -> bool:
        return self.gate is None or self.gate(Decision(self.pass_name, rule, at))

    def applied(
        self,
        rule: str,
        at: str,
        because: str,
        took: Iterable[Node | str] = (),
        made: Iterable[Node | str] = (),
        error: float = 0.0,
        source: str = "",
        cost_before: Cost | None = None,
        cost_after: Cost | None = None,
    ) -> Step:
        """Record a rewrite that was done."""
        step = Step(
            rule,
            "applied",
            because,
            at,
            _names(took),
            _names(made),
            error,
            source or _caller(),
            cost_before,
            cost_after,
            self._lap(),
        )
        self.steps.append(step)
        return step

    def declined(
        self, rule: str, at: str, because: str, took: Iterable[Node | str] = (), source: str = ""
    ) -> None:
        """Record a rewrite that was considered and not done, with the reason."""
        if self.keep_declined:
            names, place = _names(took), source or _caller()
            self.steps.append(
                Step(rule, "declined", because, at, names, source=place, seconds=self._lap())
            )

    def _lap(self) -> float:
        now = perf_counter()
        seconds, self.last = now - self.last, now
        return seconds


def _caller() -> str:
    """File and line that wrote a step, relative to the package."""
    frame = sys._getframe(2)
    return f"{frame.f_code.co_filename.rpartition('compiler/')[2]}:{frame.f_lineno}"


def _names(things: Iterable[Node | str]) -> tuple[str, ...]:
    return tuple(t if isinstance(t, str) else t.output for t in things)


@dataclass(frozen=True, slots=True)
class Event:
    """One pass over the graph. Units: `seconds` of the pass, `verify_seconds` of checking it."""

    name: str
    before: Graph
    after: Graph
    seconds: float
    verify_seconds: float = 0.0
    steps: tuple[Step, ...] = ()
    words: str = ""

    @property
    def changed(self) -> bool:
        """Whether the pass gave another graph than it got."""
        return self.before is not self.after


@dataclass(slots=True)
class Trace:
    """All events of one compilation, in order."""

    events: list[Event] = field(default_factory=list)
