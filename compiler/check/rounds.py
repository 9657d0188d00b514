"""Trials: a model on random inputs of each kind, and the results expected after each pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from time import perf_counter
from typing import Any

from compiler.check.feeds import OUT_OF_RANGE, make_feeds, turns
from compiler.check.judge import Verdict, adds_up, judge, judge_all, keeps_bits, may_underflow
from compiler.check.margins import Expected, evaluated, expectations, wide_results
from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir.graph import Graph
from compiler.trace import Event


@dataclass(slots=True)
class Round:
    """Inputs, the results of the original model on them, and the permitted errors of results."""

    kind: str
    graph: Graph
    feeds: Mapping[str, Any]
    own: Mapping[str, Any]
    seconds: float
    seed: int = 0
    cache: dict[str, Expected] = field(default_factory=dict)

    def expected(self, name: str) -> Expected:
        """Return the expected value of a result."""
        if not self.cache:
            self.cache = expectations(self.graph, self.feeds, self.own, self.seed)
        return self.cache[name]

    def objection(self, graph: Graph, budget: float) -> tuple[str, Verdict]:
        """Compute another graph; return the name of its first wrong result, and the verdict."""
        try:
            made = evaluated(graph, self.feeds)
        except CompileError as e:
            return "", Verdict(f"the graph cannot be computed: {e}", float("inf"))
        return self.objection_to(made, graph, budget)

    def objection_to(
        self, made: Mapping[str, Any], graph: Graph, budget: float
    ) -> tuple[str, Verdict]:
        """Return the name of the first wrong result in `made`, and the verdict on this result."""
        bits = not budget and keeps_bits(self.graph) and keeps_bits(graph)
        loose = adds_up(self.graph) or adds_up(graph)
        return judge_all(
            made,
            self.own,
            lambda name: judge(
                made[name],
                self.own[name],
                lambda: self.expected(name),
                budget=budget,
                bits=bits,
                loose_infinities=loose and bool(budget),
                underflow=may_underflow(self.graph),
                extreme=self.kind in OUT_OF_RANGE,
                made_wide=lambda: wide_results(graph, self.feeds)[1][name],
            ),
        )


def make_round(
    graph: Graph, kind: str, feeds: Mapping[str, Any] | None = None, seed: int = 0
) -> Round | None:
    """Create a trial; return None if the model rejects the inputs or a type cannot be drawn."""
    start = perf_counter()
    try:
        given = make_feeds(graph, kind, seed) if feeds is None else feeds
        own = evaluated(graph, given)
    except CompileError:
        return None
    return Round(kind, graph, given, own, perf_counter() - start, seed)


MOST_TURNS = 4
"""The maximum number of trials of each kind in `OUT_OF_RANGE`, for models with small inputs."""


def make_rounds(graph: Graph, seed: int = 0, seconds: float = float("inf")) -> list[Round]:
    """Create trials for each kind of inputs that the model accepts, within a time limit."""
    start, found = perf_counter(), list[Round]()
    for kind, turn in turns(graph, MOST_TURNS):
        if perf_counter() - start > seconds:
            break
        made = make_round(graph, kind, seed=seed + turn)
        if made is not None:
            found.append(made)
    return found


def budget_of(events: Sequence[Event], tolerance: float) -> float:
    """Return the allowed error besides noise: 0 if all steps were exact, else the tolerance."""
    steps = (s for e in events for s in e.steps if s.outcome == "applied")
    return tolerance if any(s.error for s in steps) else 0.0
