"""The trace of a compilation: its events in order, with reasons, costs and seconds.

The driver records one `Event` per pass. The pass records in its `Log` each rewrite that it applied
or declined. Graphs are immutable, so `before` and `after` are references.
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
    """One rewrite that was applied, or considered and declined.

    `took` names the nodes or constants that the rewrite consumed, and `made` the nodes or constants
    that it produced. `at` is the matched value. `error` bounds the change of results relative to
    their scale; 0 means bitwise equal. `source` is the file and line of the rule. `cost_before` and
    `cost_after` are the costs of `took` and `made`, None for open sizes. `seconds` is the time
    since the previous step, including matching. `inside` lists the regions around the rewrite,
    outermost first, each as the output of its node and the name of the region.
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
    inside: tuple[tuple[str, str], ...] = ()

    @property
    def exact(self) -> bool:
        """Return whether the rewrite leaves results bitwise equal."""
        return self.error == 0


class Decision(NamedTuple):
    """A rewrite about to be applied: the pass, the rule, and the matched value."""

    pass_name: str
    rule: str
    at: str


Gate = Callable[[Decision], bool]
"""Callback before each rewrite; False prevents the rewrite."""


class AllBut:
    """A gate that disables the rewrites of some rules; `asked` names the rules that asked."""

    def __init__(self, rules: Collection[str]) -> None:
        self.rules = frozenset(rules)
        self.asked: set[str] = set()

    def __call__(self, decision: Decision) -> bool:
        """Return whether the rewrite may be applied."""
        self.asked.add(decision.rule)
        return decision.rule not in self.rules


Watch = Callable[[Step, Graph, Graph], None]
"""Callback after each rewrite, with the step, the matched subgraph, and its replacement."""


@dataclass(slots=True)
class Log:
    """The record of a pass's steps; the pass calls `may` before each rewrite."""

    steps: list[Step] = field(default_factory=list)
    keep_declined: bool = True
    pass_name: str = ""
    gate: Gate | None = None
    watch: Watch | None = None
    last: float = field(default_factory=perf_counter)
    """The time of the last step, in seconds of the performance counter."""

    def inside(self) -> Log:
        """Return an empty log for a nested graph, with the same gate and watch as this log."""
        return Log([], self.keep_declined, self.pass_name, self.gate, self.watch)

    def may(self, rule: str, at: str, objection: str = "", took: Iterable[Node | str] = ()) -> bool:
        """Return whether a rewrite may be applied; record a refusal with its reason."""
        if not objection and not self._is_allowed(rule, at):
            objection = "the rule is disabled for this compilation"
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
        """Record an applied rewrite."""
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
        """Record a rewrite that was considered and declined, with the reason."""
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
    """Return the position of the code that records a step: file (in the package) and line."""
    frame = sys._getframe(2)
    return f"{frame.f_code.co_filename.rpartition('compiler/')[2]}:{frame.f_lineno}"


def _names(things: Iterable[Node | str]) -> tuple[str, ...]:
    return tuple(t if isinstance(t, str) else t.output for t in things)


@dataclass(frozen=True, slots=True)
class Event:
    """The record of one pass over the graph.

    `seconds` is the time of the pass; `verify_seconds` is the time of the verifier after the
    pass.
    """

    name: str
    before: Graph
    after: Graph
    seconds: float
    verify_seconds: float = 0.0
    steps: tuple[Step, ...] = ()
    words: str = ""

    @property
    def changed(self) -> bool:
        """Return whether the pass returned a different graph."""
        return self.before is not self.after


@dataclass(slots=True)
class Trace:
    """All events of one compilation, in order."""

    events: list[Event] = field(default_factory=list)
