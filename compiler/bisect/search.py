"""Search for the cause of a failure: a minimal set of rewrites that breaks the model.

The search first tests whether the model fails reproducibly. The search then finds a minimal set of
rules, and a minimal set of their rewrites. The search also enables the rewrites in pipeline order,
as with LLVM's `-opt-bisect-limit`, and finds the rewrite at which the model breaks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from time import perf_counter

from compiler.bisect.ddmin import Ask, ddmin, first_failing, remembering
from compiler.bisect.probe import WAYS, Outcome, Probe, everything, nothing
from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.passes.pipeline.pipeline import Pipeline
from compiler.passes.pipeline.run import PassBug
from compiler.trace import Decision, Gate

Tell = Callable[[str], None]

SINGLES_SECONDS = 20.0
"""Maximum total time in seconds for trying each rule alone; a single rule is the best answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The cause of a failure; `kind` is "" if the model does not fail.

    `decisions` is a minimal set of rewrites; `rules` has the rule of each rewrite, in the same
    order. `wrong_alone` names the rules whose rewrites are wrong by themselves; other rules only
    create preconditions. `last` is the rewrite at which the model breaks if rewrites are allowed in
    pipeline order.
    `passes` are the passes that break the model without a rewrite. `stable` is False if two runs
    differed.
    """

    kind: str
    detail: str
    way: str = ""
    stable: bool = True
    decisions: tuple[Decision, ...] = ()
    wrong_alone: tuple[str, ...] = ()
    last: Decision | None = None
    n_before_last: int = 0
    passes: tuple[str, ...] = ()
    n_runs: int = 0
    seconds: float = 0.0

    @property
    def broken(self) -> bool:
        """Return whether the model fails."""
        return bool(self.kind)

    @property
    def rules(self) -> tuple[str, ...]:
        """Return the distinct rules of the rewrites."""
        return tuple(dict.fromkeys(d.rule for d in self.decisions))


def only_rules(rules: Collection[str]) -> Gate:
    """Return a gate that allows only rewrites of these rules."""
    names = frozenset(rules)
    return lambda decision: decision.rule in names


def only(decisions: Collection[Decision]) -> Gate:
    """Return a gate that allows only these rewrites."""
    chosen = frozenset(decisions)
    return lambda decision: decision in chosen


def first_few(n: int) -> Gate:
    """Return a gate that allows the first `n` requested rewrites."""
    asked = 0

    def allows(decision: Decision) -> bool:
        nonlocal asked
        asked += 1
        return asked <= n

    return allows


def search(probe: Probe, tell: Tell = lambda text: None) -> Answer:
    """Find the rewrites that break the model.

    Errors: any error of evaluating the model without passes.
    """
    start = perf_counter()
    found = _Search(probe, tell).run()
    return replace(found, n_runs=probe.n_runs, seconds=perf_counter() - start)


class _Search:
    def __init__(self, probe: Probe, tell: Tell) -> None:
        self.probe, self.tell = probe, tell
        self.wanted = Outcome()

    def run(self) -> Answer:
        self.tell("everything, twice")
        first = self.probe.ask(everything)
        second = self.probe.ask(everything)
        if (first.kind, first.way) != (second.kind, second.way):
            return self.unstable(first, second)
        if not first.failed:
            return Answer("", "")
        self.wanted = first
        self.narrow(first)
        answer = Answer(first.kind, first.detail, first.way)
        without = self.probe.ask(nothing)
        if without.same_failure(first):
            alone = () if without.at_work is None else (without.at_work,)
            return replace(answer, decisions=alone, passes=self.of_passes())
        chosen = self.decisions(self.of_rules(first.decisions))
        last, n = self.last(len(first.decisions))
        return replace(
            answer,
            decisions=chosen,
            wrong_alone=self.wrong_alone(chosen),
            last=last,
            n_before_last=n,
        )

    def unstable(self, first: Outcome, second: Outcome) -> Answer:
        texts = (x.detail or "no failure" for x in (first, second))
        detail = f"two runs differ: {' / '.join(texts)}"
        return Answer(first.kind or second.kind, detail, stable=False)

    def narrow(self, first: Outcome) -> None:
        """Restrict the search to failures detected in the same way as the first failure."""
        if first.way in WAYS:
            settings = replace(self.probe.settings, ways=(first.way,))
            self.probe.settings = settings

    def fails(self, gate: Gate) -> bool:
        return self.probe.ask(gate).same_failure(self.wanted)

    def of_rules(self, decisions: Sequence[Decision]) -> list[str]:
        rules = list(dict.fromkeys(d.rule for d in decisions))
        ask: Ask[str] = remembering(lambda part: self.fails(only_rules(part)))
        if len(rules) * self.probe.slowest < SINGLES_SECONDS:
            self.tell(f"{len(rules)} rules, each alone")
            single = next((r for r in rules if ask([r])), None)
            if single is not None:
                return [single]
        self.tell(f"{len(rules)} rules")
        if not ask(rules):
            return rules  # The failure requires rewrites that other rules enable.
        return ddmin(rules, ask)

    def decisions(self, rules: Sequence[str]) -> tuple[Decision, ...]:
        outcome = self.probe.ask(only_rules(rules))
        items = list(dict.fromkeys(outcome.decisions))
        ask: Ask[Decision] = remembering(lambda part: self.fails(only(part)))
        self.tell(f"{len(items)} rewrites of {', '.join(rules)}")
        # Names of results begin with names of operands, so sorting groups related rewrites.
        by_place = sorted(items, key=lambda d: d.at)
        found = set(ddmin(by_place, ask)) if ask(by_place) else set(items)
        chosen = tuple(d for d in items if d in found)
        broken = self.probe.ask(only(chosen)).at_work
        return chosen if broken is None or broken in chosen else (*chosen, broken)

    def last(self, n: int) -> tuple[Decision | None, int]:
        """Return the rewrite at which the model breaks, and the number of rewrites before it."""
        self.tell("the order of the pipeline")
        if not self.fails(first_few(n)):
            return None, 0
        k = first_failing(n, lambda k: self.fails(first_few(k)))
        decisions = self.probe.ask(first_few(k)).decisions
        return (decisions[-1] if decisions else None), k - 1

    def wrong_alone(self, decisions: Sequence[Decision]) -> tuple[str, ...]:
        if self.wanted.kind != "wrong":
            return ()
        self.tell("each rewrite on its own")
        settings = self.probe.settings
        self.probe.settings = replace(settings, ways=("rewrites",))
        try:
            judged = self.probe.judged(only(decisions))
        except (PassBug, CompileError):
            return ()
        finally:
            self.probe.settings = settings
        return tuple(dict.fromkeys(j.rewrite.step.rule for j in judged if not j.ok))

    def of_passes(self) -> tuple[str, ...]:
        """Return a minimal set of passes that fail in the same way, with all rewrites allowed."""
        pipeline = self.probe.settings.pipeline
        names = list(dict.fromkeys(line.name for line in pipeline.passes))
        self.tell(f"{len(names)} passes")
        return tuple(ddmin(names, lambda part: self.fails_with(only_passes(pipeline, part))))

    def fails_with(self, pipeline: Pipeline) -> bool:
        settings = replace(self.probe.settings, pipeline=pipeline)
        return self.probe.ask(everything, settings).same_failure(self.wanted)


def only_passes(pipeline: Pipeline, names: Collection[str]) -> Pipeline:
    """Return the pipeline restricted to these passes."""
    others = {line.name for line in pipeline.passes} - set(names)
    return pipeline.without(*sorted(others))
