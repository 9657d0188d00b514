"""The trace: what happened during a compilation, in order, with reasons and seconds.

The driver makes one `Event` per pass; the pass tells its `Log` about each rewrite it applied and
each one it considered and declined. Graphs are immutable, so `before` and `after` are references.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from compiler.ir.graph import Graph, Node

Outcome = Literal["applied", "declined"]


@dataclass(frozen=True, slots=True)
class Step:
    """One rewrite that fired, or that was considered and declined.

    `took` names the nodes (or constants) it consumed, `made` those it produced; `at` is the value
    where it was matched. `exact` is False when results may round differently.
    """

    rule: str
    outcome: Outcome
    because: str
    at: str
    took: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    exact: bool = True


@dataclass(slots=True)
class Log:
    """What a pass writes its steps to."""

    steps: list[Step] = field(default_factory=list)
    keep_declined: bool = True

    def applied(
        self,
        rule: str,
        at: str,
        because: str,
        took: Iterable[Node | str] = (),
        made: Iterable[Node | str] = (),
        exact: bool = True,
    ) -> None:
        """Record a rewrite that was done."""
        self.steps.append(Step(rule, "applied", because, at, _names(took), _names(made), exact))

    def declined(self, rule: str, at: str, because: str, took: Iterable[Node | str] = ()) -> None:
        """Record a rewrite that was considered and not done, with the reason."""
        if self.keep_declined:
            self.steps.append(Step(rule, "declined", because, at, _names(took)))


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
