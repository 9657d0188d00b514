"""A single test of the compiler: does a model fail if only some rewrites are allowed?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from time import perf_counter
from typing import Any

from compiler.bisect.child import Died, in_child
from compiler.check.margins import evaluated
from compiler.check.rewrites import Judged, Rewrites, judge_rewrites
from compiler.check.rounds import Round, budget_of, make_round, make_rounds
from compiler.dataclass import dataclass
from compiler.driver import compile as compile_program
from compiler.errors import CompileError
from compiler.ir.graph import Graph, Node
from compiler.options import Options
from compiler.passes.engine.known_rules import all_but
from compiler.passes.engine.rule import Rule
from compiler.passes.pipeline.pipeline import Pipeline
from compiler.passes.pipeline.run import PassBug, run_pipeline
from compiler.runtime.compare import TOLERANCE, compare
from compiler.runtime.inputs import random_inputs
from compiler.runtime.program import Program
from compiler.trace import Decision, Event, Gate

KINDS = ("wrong", "crash", "invalid", "slow", "refused")
"""The kinds of failures of a compilation: the values of `--until`."""

WAYS = ("results", "passes", "rewrites")
"""The ways to detect wrong numbers: in final results, in results of each pass, in each rewrite."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one compilation; `kind` is "" for success, `way` names the detector.

    `way` is one of `WAYS`, `program`, `process`, a pass, or an error code. `decisions` are the
    rewrites that rules requested and the gate allowed, in order. `at_work` is the rule that failed
    before it requested a rewrite.
    """

    kind: str = ""
    detail: str = ""
    way: str = ""
    decisions: tuple[Decision, ...] = ()
    at_work: Decision | None = None

    @property
    def failed(self) -> bool:
        """Return whether the compilation failed."""
        return bool(self.kind)

    def same_failure(self, other: Outcome) -> bool:
        """Return whether both compilations fail in the same way."""
        return self.failed and (self.kind, self.way) == (other.kind, other.way)


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings for compiling and judging models.

    `until` is the kind of failure to find; "" means any kind except slow. A program counts as slow
    if its slowdown, relative to a program without rewrites, exceeds `ratio`. `moved` is the allowed
    change of a result, including rounding, as a fraction of the largest magnitude in the result. If
    `moved` is None, any effect of rounding is allowed. If `limit_seconds` is above 0, each test
    runs in a child process with this time limit. The rules in `without` are always disabled.
    """

    pipeline: Pipeline
    until: str = ""
    program: bool = False
    seed: int = 0
    tolerance: float = TOLERANCE
    ratio: float = 1.1
    moved: float | None = None
    limit_seconds: float = 0.0
    limit_megabytes: int = 0
    ways: tuple[str, ...] = WAYS
    without: tuple[str, ...] = ()

    def gated(self, gate: Gate) -> Gate:
        """Return a gate that also disables the rules in `without`."""
        allowed = all_but(self.without)
        return lambda decision: allowed(decision) and gate(decision)

    def looks_for(self, kind: str) -> bool:
        """Return whether a failure of this kind counts; slowness counts only if requested."""
        return kind == self.until if self.until else kind != "slow"


@dataclass
class Recorder:
    """A gate that records the rewrites that it allows."""

    allows: Gate
    allowed: list[Decision] = field(default_factory=list)

    def __call__(self, decision: Decision) -> bool:
        """Return whether the rewrite may be applied."""
        if not self.allows(decision):
            return False
        self.allowed.append(decision)
        return True


def everything(decision: Decision) -> bool:
    """Allow all rewrites."""
    return True


def nothing(decision: Decision) -> bool:
    """Allow no rewrites."""
    return False


@dataclass
class Probe:
    """A model, and the inputs on which its compilations are judged."""

    source: Graph
    settings: Settings
    rounds: list[Round]
    n_runs: int = 0
    slowest: float = 0.0
    baseline: Program | None = None

    @staticmethod
    def of(source: Graph, settings: Settings, feeds: Mapping[str, Any] | None = None) -> Probe:
        """Create a probe with random inputs of each kind, or with the inputs `feeds`.

        Errors: E-INPUT-*, E-RUN-*.
        """
        given = random_inputs(source, settings.seed) if feeds is None else feeds
        first = make_round(source, "random", given, settings.seed)
        rounds = [] if first is None else [first]
        if feeds is None and (first is None or first.seconds < 1):
            rounds += make_rounds(source, settings.seed, seconds=5)
        return Probe(source, settings, rounds)

    def ask(self, gate: Gate, settings: Settings | None = None) -> Outcome:
        """Compile with the rewrites that the gate allows, and judge the result."""
        s = settings or self.settings
        self.n_runs += 1
        start = perf_counter()
        if s.limit_seconds:
            found = in_child(lambda: self._ask(gate, s), s.limit_seconds, s.limit_megabytes)
            if isinstance(found, Died):
                found = Outcome("crash", found.why, "process")
        else:
            found = self._ask(gate, s)
        self.slowest = max(self.slowest, perf_counter() - start)
        assert isinstance(found, Outcome), f"a child gave {found!r}"
        return found if s.looks_for(found.kind) else replace(found, kind="", detail="")

    def judged(self, gate: Gate) -> list[Judged]:
        """Judge, one by one, the rewrites that the gate allows."""
        rewrites, _ = self._passes(Recorder(self.settings.gated(gate)), self.settings)
        return list(judge_rewrites(rewrites, [r.feeds for r in self.rounds[:1]]))

    def graph(self, gate: Gate) -> Graph:
        """Return the graph after the passes."""
        s = self.settings
        return run_pipeline(self.source, s.pipeline, gate=s.gated(gate), verify=False)[0]

    def _ask(self, gate: Gate, s: Settings) -> Outcome:
        recorder = Recorder(s.gated(gate))
        found = self._compiled(recorder, s)
        return replace(found, decisions=tuple(recorder.allowed))

    def _compiled(self, gate: Gate, s: Settings) -> Outcome:
        try:
            rewrites, optimised = self._passes(gate, s)
        except PassBug as e:
            kind = "invalid" if "broke the graph: " in str(e) else "crash"
            return Outcome(kind, str(e), e.pass_name, at_work=_rule_at_work(e))
        except CompileError as e:
            return Outcome("refused", str(e), e.code)
        found = Outcome()
        if s.looks_for("wrong"):
            found = self._numbers(rewrites, optimised, s)
        if found.failed or not (s.program or s.until == "slow"):
            return found
        return self._program(gate, s)

    def _passes(self, gate: Gate, s: Settings) -> tuple[Rewrites, Graph]:
        rewrites = Rewrites()
        watch = rewrites.watch if "rewrites" in s.ways else None
        optimised, _ = run_pipeline(
            self.source,
            s.pipeline,
            keep_declined=False,
            gate=gate,
            watch=watch,
            progress=rewrites.progress,
        )
        return rewrites, optimised

    def _numbers(self, rewrites: Rewrites, optimised: Graph, s: Settings) -> Outcome:
        """Search for wrong numbers in the ways that `s.ways` lists."""
        if "results" in s.ways:
            text = self._wrong(optimised, rewrites.events, s)
            if text:
                return Outcome("wrong", text, "results")
        if "passes" in s.ways:
            for i, event in enumerate(rewrites.events):
                if not event.changed or event.after is optimised:
                    continue
                text = self._wrong(event.after, rewrites.events[: i + 1], s)
                if text:
                    return Outcome("wrong", f"after {event.name}: {text}", "passes")
        if "rewrites" in s.ways:
            for j in judge_rewrites(rewrites, seed=s.seed):
                if not j.ok:
                    step = j.rewrite.step
                    text = f"{step.rule} at {step.at}, on {j.kind} inputs: {j.objection}"
                    return Outcome("wrong", text, "rewrites")
        return Outcome()

    def _wrong(self, graph: Graph, events: list[Event], s: Settings) -> str:
        if s.moved is not None:
            return self._moved(graph, s.moved)
        budget = budget_of(events, s.tolerance)
        for r in self.rounds:
            name, verdict = r.objection(graph, budget)
            if verdict.objection:
                return f"{name} on {r.kind} inputs: {verdict.objection}"
        return ""

    def _moved(self, graph: Graph, allowed: float) -> str:
        """Describe a result that differs from the model's by more than `allowed`; "" if none."""
        for r in self.rounds[:1]:
            for d in compare(evaluated(graph, r.feeds), r.own):
                if d.relative_error > allowed:
                    return (
                        f"{d.name} on {r.kind} inputs moved by {d.relative_error:.2g} of its scale"
                    )
        return ""

    # The compiled program

    def _program(self, gate: Gate, s: Settings) -> Outcome:
        try:
            program = self._built(gate, s)
            text = self._wrong_program(program, s) if s.looks_for("wrong") else ""
        except CompileError as e:
            return Outcome("refused", str(e), e.code)
        except Exception as e:  # A compiler bug is the target of the search.
            return Outcome("crash", f"{type(e).__name__}: {e}", "program")
        if text:
            return Outcome("wrong", text, "program")
        if s.until == "slow":
            return self._slow(program, s)
        return Outcome()

    def _built(self, gate: Gate, s: Settings) -> Program:
        return compile_program(self.source, Options(s.pipeline, gate=gate, trace=False))

    def _wrong_program(self, program: Program, s: Settings) -> str:
        for r in self.rounds:
            if r.kind not in ("random", "normal", "positive", "small"):
                continue  # Vector code may propagate infinities and NaN differently.
            made = program.run(dict(r.feeds))
            name, verdict = r.objection_to(made, self.source, s.tolerance)
            if verdict.objection:
                return f"{name} of the program on {r.kind} inputs: {verdict.objection}"
        return ""

    def _slow(self, program: Program, s: Settings) -> Outcome:
        """Compare minimum times with and without rewrites, from interleaved runs."""
        if self.baseline is None:
            self.baseline = self._built(nothing, s)
        feeds = dict(self.rounds[0].feeds)
        ratio = ratio_of_minima(lambda: program.run(feeds), lambda: self.baseline_run(feeds))
        if ratio <= s.ratio:
            return Outcome()
        return Outcome("slow", f"it takes {ratio:.2f} times as long as without rewrites", "program")

    def baseline_run(self, feeds: Mapping[str, Any]) -> object:
        """Run the program that was compiled without rewrites."""
        assert self.baseline is not None, "the program without rewrites exists"
        return self.baseline.run(feeds)


def _rule_at_work(bug: PassBug) -> Decision | None:
    """Return the rule that was constructing a replacement when a pass failed."""
    found: Decision | None = None
    frames = bug.__cause__.__traceback__ if bug.__cause__ is not None else None
    while frames is not None:
        here = frames.tb_frame.f_locals
        rule, root = here.get("r"), here.get("root")
        if isinstance(rule, Rule) and isinstance(root, Node):
            found = Decision(bug.pass_name, rule.name, root.output)
        frames = frames.tb_next
    return found


def ratio_of_minima(
    a: Callable[[], object], b: Callable[[], object], seconds: float = 0.1, n_least: int = 15
) -> float:
    """Return the minimum time of `a` divided by the minimum time of `b`, from interleaved runs."""
    best, end, n = [float("inf"), float("inf")], perf_counter() + seconds, 0
    while n < n_least or perf_counter() < end:
        for i, fn in enumerate((a, b)):
            start = perf_counter()
            fn()
            best[i] = min(best[i], perf_counter() - start)
        n += 1
    return best[0] / best[1]
