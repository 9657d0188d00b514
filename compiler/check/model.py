"""A model checked from end to end: import, every pass, every rewrite, the program, the peers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from compiler.check.codes import rounds_to_codes
from compiler.check.errors import Error, errors_of
from compiler.check.judge import FINE
from compiler.check.margins import wide_results
from compiler.check.nodes import NodeErrors, by_node, fits_in_memory
from compiler.check.rewrites import Judged, Rewrites, judge_rewrites
from compiler.check.rounds import Round, budget_of, make_round, make_rounds
from compiler.check.yardstick import YARDSTICK, Run, yardstick_of
from compiler.dataclass import dataclass
from compiler.driver import compile as compile_program
from compiler.errors import CompileError
from compiler.frontend import load
from compiler.ir.graph import Graph
from compiler.ir.infer import specialize
from compiler.passes.pipeline.precision import precision_mode
from compiler.passes.pipeline.run import PassBug, run_pipeline
from compiler.passes.pipeline.text import as_pipeline
from compiler.reference import reference
from compiler.runtime.compare import TOLERANCE, Difference, compare, worst
from compiler.runtime.inputs import inputs_of
from compiler.runtime.program import Program
from compiler.trace import Event

MORE_SECONDS = 10.0
"""What further inputs may take, and rewrites unless all are asked for: each that long."""

Progress = Callable[[str, Event | None], None]


LARGEST_STEPS = 2e-2
"""Above this, relative to the scale, no difference is taken for the steps of a quantized model."""

ONE_STEP = 1 / 127
"""A step between codes of eight bits, relative to the largest number that they stand for."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One way to compute the model compared with the yardstick.

    `stage` is a graph (`imported`, or the pass after which it was taken) evaluated by our
    reference, `program` for the compiled one, a peer's name, or `program and` a peer's name for
    these two compared with each other. What is not `judged` is told and does not fail the check: a
    peer is not ours, and one that is itself far from the yardstick proves nothing. `wide` are the
    errors against the model in f64. `objection` says what inputs of another kind brought to light,
    or why a peer gives no results.
    """

    stage: str
    differences: tuple[Difference, ...]
    seconds: float
    changed: bool = True
    judged: bool = True
    wide: tuple[Error, ...] = ()
    objection: str = ""

    @property
    def error(self) -> float:
        """The worst error of all outputs, relative to their scales."""
        return worst(self.differences)


@dataclass(frozen=True, slots=True)
class Verdict:
    """All findings on one model. `yardstick` says what they were compared with, `note` why.

    `narrow` names the nodes that the f64 form of the model left as they were. `rewrites` are those
    that were judged, of `n_rewrites`. `broken` is a bug of ours that ended the passes. `in_codes`
    are models that round to whole numbers of eight bits or fewer.
    """

    yardstick: str
    note: str
    findings: tuple[Finding, ...]
    tolerance: float
    program: Program | None
    narrow: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    rewrites: tuple[Judged, ...] = ()
    n_rewrites: int = 0
    nodes: tuple[NodeErrors, ...] = ()
    broken: str = ""
    in_codes: bool = False

    @property
    def allowed(self) -> float:
        """What stages may be off by: the tolerance, or twice what rounding does to the model.

        A quantized model rounds in steps, and a number half way between two codes may go either
        way: one step is always allowed. Where its own meaning in f32 is further from that in f64,
        another right way to compute it may be so too, up to `LARGEST_STEPS`.
        """
        itself = [2 * e.relative for f in self.findings[:1] for e in f.wide]
        if self.in_codes:
            return max(self.tolerance, min(max([ONE_STEP, *itself]), LARGEST_STEPS))
        return max([self.tolerance, *(e for e in itself if e <= LARGEST_STEPS)])

    @property
    def ok(self) -> bool:
        """Whether every finding is within what is allowed, and every rewrite within its budget."""
        allowed = self.allowed
        stages = all(f.error <= allowed and not f.objection for f in self.findings if f.judged)
        return stages and not self.broken and all(j.ok for j in self.rewrites)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a check looks at beside the passes."""

    seed: int = 0
    tolerance: float = TOLERANCE
    every_rewrite: bool = False
    by_node: bool = False


@dataclass
class _Check:
    """A check as it goes along."""

    source: Graph
    inputs: Mapping[str, Any]
    expected: Mapping[str, Any]
    wanted: Wanted
    tell: Progress
    wide: Mapping[str, Any] = field(default_factory=dict)
    narrow: tuple[str, ...] = ()
    rounds: list[Round] = field(default_factory=list)
    in_codes: bool = False

    def prepare(self) -> None:
        """The model in f64, and further inputs, as far as time permits."""
        self.tell("f64", None)
        try:
            wide, self.wide = wide_results(self.source, self.inputs)
            self.narrow = wide.narrow
        except CompileError:
            pass  # an index or a size that rounding decides
        first = make_round(self.source, "random", self.inputs, self.wanted.seed)
        if first is None:
            return
        self.rounds.append(first)
        n_stages = 30
        if n_stages * first.seconds < MORE_SECONDS:
            more = make_rounds(self.source, self.wanted.seed, seconds=MORE_SECONDS / 4)
            affordable = int(MORE_SECONDS / (n_stages * max(first.seconds, 1e-9)))
            self.rounds += more[:affordable]

    def finding(self, stage: str, compute: Callable[[], Mapping[str, Any]]) -> Finding:
        """One stage on the first inputs."""
        self.tell(stage, None)
        start = perf_counter()
        made = compute()
        seconds = perf_counter() - start
        return Finding(
            stage, compare(made, self.expected), seconds, wide=errors_of(made, self.wide)
        )

    def graph(self, stage: str, graph: Graph, events: Sequence[Event]) -> Finding:
        """One pass's graph on all inputs."""
        made: dict[str, Any] = {}

        def compute() -> Mapping[str, Any]:
            made.update(reference(graph, self.inputs))
            return made

        try:
            found = self.finding(stage, compute)
        except CompileError as e:
            return Finding(stage, (), 0.0, objection=f"it cannot be computed: {e}")
        tolerance = max(self.wanted.tolerance, LARGEST_STEPS if self.in_codes else 0.0)
        budget = budget_of(events, tolerance)
        for r in self.rounds:
            first = r is self.rounds[0]
            name, verdict = (
                r.objection_to(made, graph, budget) if first else r.objection(graph, budget)
            )
            if verdict is not FINE:
                text = f"{name} on {r.kind} inputs: {verdict.objection}"
                return replace(found, objection=text)
        return found

    def passes(self, events: Sequence[Event]) -> list[Finding]:
        """The model as it was imported, and after each pass that changed it."""
        findings = [self.graph("imported", self.source, ())]
        for i, event in enumerate(events):
            if event.changed:
                findings.append(self.graph(event.name, event.after, events[: i + 1]))
            else:
                last = findings[-1]
                findings.append(replace(last, stage=event.name, seconds=0.0, changed=False))
        return findings

    def rewrites(self, rewrites: Rewrites) -> tuple[Judged, ...]:
        """The rewrites that there is time for."""
        self.tell("rewrites", None)
        limit = float("inf") if self.wanted.every_rewrite else MORE_SECONDS
        slow = self.rounds and self.rounds[0].seconds * 3 > limit
        feeds = [] if slow else [r.feeds for r in self.rounds[:2]]
        return tuple(
            judge_rewrites(
                rewrites,
                feeds,
                seed=self.wanted.seed,
                seconds=limit,
                seconds_of_model=limit / 2,
            )
        )

    def nodes(self, events: Sequence[Event]) -> tuple[NodeErrors, ...]:
        """Every value by name, after every pass."""
        if not self.wanted.by_node or not fits_in_memory(self.source):
            return ()
        self.tell("values by name", None)
        stages = [(e.name, e.after) for e in events if e.changed]
        tolerance = self.wanted.tolerance
        return tuple(by_node(self.source, self.inputs, stages, tolerance))


def check_model(
    model: bytes | Path | Graph,
    *,
    pipeline: str = "default",
    precision: str = "f32",
    threads: int = 1,
    shapes: Mapping[str, Sequence[int]] | None = None,
    given: Mapping[str, Any] | None = None,
    peers: Mapping[str, Run] | None = None,
    wanted: Wanted | None = None,
    schedules: str | None = None,
    tell: Progress = lambda step, event: None,
) -> Verdict:
    """Compare every pass's graph, every rewrite, the program and the peers with the yardstick.

    Inputs that are not `given` are random ones of these `shapes`.
    A graph has no ONNX form that onnx.reference could run: our reference stands in. A peer that
    refuses the model raises a CompileError, which is told and fails nothing.
    Errors: what reading and compiling the model raise.
    """
    mode = precision_mode(precision)
    wanted = wanted or Wanted(tolerance=mode.tolerance)
    graph = model if isinstance(model, Graph) else load(model)
    inputs = inputs_of(graph, wanted.seed, shapes, given)
    sizes = {k: v.shape for k, v in inputs.items() if hasattr(v, "shape")}
    source = specialize(graph, sizes) if sizes else graph
    rewrites = Rewrites()
    broken = ""
    tell("passes", None)
    try:
        lines = mode.lines(as_pipeline(pipeline))
        run_pipeline(source, lines, watch=rewrites.watch, progress=rewrites.progress)
    except PassBug as e:
        broken = str(e)
        rewrites.end(e.pass_name, source)
    tell(YARDSTICK, None)
    yardstick = yardstick_of(model, source, inputs, peers or {}, wanted.tolerance)
    check = _Check(
        source, inputs, yardstick.outputs, wanted, tell, in_codes=rounds_to_codes(source)
    )
    check.prepare()
    findings, program = check.passes(rewrites.events), None
    if not broken:
        tell("compiling", None)
        program = compile_program(
            graph,
            pipeline=pipeline,
            precision=precision,
            threads=threads,
            inputs=sizes,
            progress=tell,
            schedules=schedules,
        )
        findings += _runs(check, program, peers or {})
    judged = check.rewrites(rewrites)
    return Verdict(
        yardstick.name,
        yardstick.note,
        tuple(findings),
        wanted.tolerance,
        program,
        check.narrow,
        tuple(r.kind for r in check.rounds),
        judged,
        len(rewrites.found),
        check.nodes(rewrites.events),
        broken,
        check.in_codes,
    )


def _runs(check: _Check, program: Program, peers: Mapping[str, Run]) -> list[Finding]:
    """The program and the peers on the first inputs."""
    found = [check.finding("program", lambda: program.run(check.inputs))]
    tolerance = check.wanted.tolerance
    for name, run in peers.items():
        try:
            theirs = check.finding(name, lambda r=run: r(check.inputs))
        except CompileError as e:
            found.append(Finding(name, (), 0.0, judged=False, objection=e.message))
            continue
        both = replace(check, expected=run(check.inputs), wide={}).finding(
            f"program and {name}", lambda: program.run(check.inputs)
        )
        found.append(replace(theirs, judged=False))
        found.append(replace(both, judged=theirs.error <= tolerance))
    return found
