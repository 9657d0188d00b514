"""Bisection of a model: search, reduction, and reproducer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from compiler.bisect.probe import Outcome, Probe, Settings
from compiler.bisect.reduce import Case, reduce_case
from compiler.bisect.repro import Repro
from compiler.bisect.search import Answer, only_passes, search
from compiler.check.rounds import Round
from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir.graph import Graph
from compiler.passes.pipeline.pipeline import Pipeline

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Bisection:
    """The result of a bisection: the cause, and a reproducer if the failure is reproducible."""

    answer: Answer
    repro: Repro | None = None


def bisect(
    graph: Graph,
    settings: Settings,
    *,
    reduce_seconds: float = 60.0,
    tell: Tell = lambda text: None,
) -> Bisection:
    """Find a minimal set of rewrites that breaks a graph, and reduce the graph.

    Errors: any error of evaluating the graph without passes.
    """
    probe = Probe.of(graph, settings)
    answer = search(probe, tell)
    if not answer.broken or not answer.stable:
        return Bisection(answer)
    tell("reducing")
    return Bisection(answer, reduced(probe, settings, answer, reduce_seconds))


def reduced(probe: Probe, settings: Settings, answer: Answer, seconds: float) -> Repro:
    """Return a reproducer of the failure found by `search`, on the smallest graph found in time."""
    ways = (answer.way,) if answer.way in settings.ways else settings.ways
    settings = replace(settings, ways=ways, until=answer.kind)
    case = Case(probe.source, _telling_feeds(probe, answer))
    full = Repro(case, settings, answer.kind, answer.way, answer.detail)
    repro = replace(full, rules=answer.rules) if answer.rules else full
    if not fails(repro, case):
        # Other rewrites of these rules hide the failure, so allow only these decisions.
        repro = replace(full, decisions=answer.decisions)
    for pipeline in _shorter(settings.pipeline, answer):
        candidate = replace(repro, settings=replace(settings, pipeline=pipeline))
        if fails(candidate, case):
            repro = candidate
            break
    if seconds and fails(repro, case):
        case = reduce_case(case, lambda c: fails(repro, c), seconds)
    return replace(repro, case=case)


def fails(repro: Repro, case: Case) -> bool:
    """Return whether a case fails in the same way; False if the case cannot be computed."""
    try:
        return replace(repro, case=case).still_fails()
    except (CompileError, MemoryError):
        return False


def _telling_feeds(probe: Probe, answer: Answer) -> dict[str, object]:
    """Return the first inputs on which the model fails."""
    wanted = Outcome(answer.kind, "", answer.way)
    if len(probe.rounds) > 1 and answer.kind == "wrong" and answer.way != "rewrites":
        from compiler.bisect.search import only

        def on(r: Round) -> bool:
            one = Probe(probe.source, probe.settings, [r])
            gate = only(answer.decisions) if answer.decisions else lambda decision: True
            return one.ask(gate).same_failure(wanted)

        found = next((r for r in probe.rounds if on(r)), probe.rounds[0])
        return dict(found.feeds)
    return dict(probe.rounds[0].feeds) if probe.rounds else {}


def _shorter(pipeline: Pipeline, answer: Answer) -> list[Pipeline]:
    names = [*dict.fromkeys(d.pass_name for d in answer.decisions), *answer.passes]
    return [only_passes(pipeline, names)] if names else []
