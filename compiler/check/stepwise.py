"""Incremental check: it reports the finding on each stage, run and rewrite immediately."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from compiler.check.codes import rounds_to_codes
from compiler.check.errors import errors_of
from compiler.check.findings import (
    IMPORTED,
    LARGEST_STEPS,
    Finding,
    allowed_error,
)
from compiler.check.judge import FINE
from compiler.check.margins import wide_results
from compiler.check.nodes import ByName, fits_in_memory, wide_values
from compiler.check.rewrites import Judged, Rewrites, judge_rewrites
from compiler.check.rounds import Round, budget_of, make_round, make_rounds
from compiler.check.values import StageValues
from compiler.check.yardstick import YARDSTICK, Run, Yardstick, yardstick_of
from compiler.dataclass import dataclass
from compiler.driver import compile as compile_program
from compiler.errors import CompileError
from compiler.frontend import load
from compiler.ir.graph import Graph
from compiler.ir.infer import specialize
from compiler.options import Options, Progress
from compiler.passes.engine.known_rules import require_known_rules
from compiler.passes.pipeline.precision import precision_mode
from compiler.passes.pipeline.run import PassBug, run_pipeline
from compiler.reference import check_inputs, reference
from compiler.runtime.assumed import assumed_shapes, shape_texts
from compiler.runtime.compare import TOLERANCE, compare, worst
from compiler.runtime.inputs import inputs_of
from compiler.runtime.program import Program
from compiler.trace import AllBut, Event

MORE_SECONDS = 10.0
"""The time limit in seconds for further inputs, and for rewrites if not all are requested."""

RUNS_OF_NOISE = 8
"""The cost of computing the effect of noise (see margins.py), measured in runs of our reference."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The options of a check.

    `seconds` is the time limit for further inputs, and for rewrites if not all are requested. With
    `quick`, the effect of noise is skipped if computing it would take longer than `seconds`. If the
    effect of noise is skipped, stages are compared only with the yardstick.
    """

    seed: int = 0
    tolerance: float = TOLERANCE
    every_rewrite: bool = False
    by_node: bool = False
    seconds: float = MORE_SECONDS
    quick: bool = False


@dataclass
class Check:
    """A check in progress, which yields each finding as soon as it is computed.

    Iterate `stages` first, then call `program`, `peers` and `rewrites`; each call may be omitted.
    `rewrites_done` records the rewrites of the passes; `broken` describes a compiler bug that ended
    the passes.
    """

    graph: Graph
    source: Graph
    options: Options
    inputs: Mapping[str, Any]
    yardstick: Yardstick
    wanted: Wanted
    tell: Progress
    rewrites_done: Rewrites
    broken: str = ""
    wide: Mapping[str, Any] = field(default_factory=dict)
    narrow: tuple[str, ...] = ()
    rounds: list[Round] = field(default_factory=list)
    in_codes: bool = False
    imported: Finding | None = None
    values: StageValues | None = None
    names: ByName | None = None

    @property
    def allowed(self) -> float:
        """Return the allowed error of stages; the value is final after the first stage."""
        return allowed_error(self.wanted.tolerance, self.imported, self.in_codes)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return the kinds of inputs on which stages are computed."""
        return tuple(r.kind for r in self.rounds)

    def stages(self) -> Iterator[Finding]:
        """Yield the finding on the imported model, then a finding after each pass."""
        self._prepare()
        last = made = None
        events = self.rewrites_done.events
        for i, event in enumerate([None, *events]):
            if event is not None and not event.changed:
                assert last is not None, "the imported graph comes first"
                yield replace(last, stage=event.name, seconds=0.0, changed=False, moved=0.0)
                continue
            stage, graph = (event.name, event.after) if event else (IMPORTED, self.source)
            before = made
            found, made = self._stage(stage, graph, events[:i])
            if event is None:
                self.imported = found
            elif before is not None and made is not None:
                found = replace(found, moved=worst(compare(made, before)))
            last, made = found, made if made is not None else before
            yield found

    def compile(self) -> Program:
        """Compile the model for the shapes of the inputs. Errors: any error of compilation."""
        self.tell("compiling", None)
        shapes = _shapes_of(self.inputs)
        options = replace(self.options, inputs=shapes, progress=self.tell)
        try:
            return compile_program(self.graph, options)
        except CompileError as e:
            is_of_schedule = e.code.startswith("E-SCHEDULE")
            raise e.noting(self._needed_shapes(shapes) if is_of_schedule else "") from e

    def _needed_shapes(self, shapes: Mapping[str, Any]) -> str:
        """Return a note with the `--shape` options for a schedule; "" if no shapes are open."""
        if not assumed_shapes(self.graph):
            return ""
        listed = " ".join(f"--shape {text}" for text in shape_texts(shapes))
        return f"the schedule must be of the model with the shapes of the inputs: compile {listed}"

    def program(self, program: Program) -> Finding:
        """Run the compiled program on the first inputs. Errors: E-RUN-*."""
        return self._finding("program", lambda: program.run(self.inputs))

    def peers(self, program: Program, peers: Mapping[str, Run]) -> Iterator[Finding]:
        """Compare other runtimes with the yardstick and with the program."""
        for name, run in peers.items():
            try:
                theirs = self._finding(name, lambda r=run: r(self.inputs))
            except CompileError as e:
                yield Finding(name, (), 0.0, judged=False, objection=e.message)
                continue
            yield replace(theirs, judged=False)
            like_them = replace(self.yardstick, outputs=run(self.inputs))
            both = replace(self, yardstick=like_them, wide={})
            found = both._finding(f"program and {name}", lambda: program.run(self.inputs))
            yield replace(found, judged=theirs.error <= self.wanted.tolerance)

    def rewrites(self) -> Iterator[Judged]:
        """Judge rewrites, within the time limit unless all are requested."""
        self.tell("rewrites", None)
        limit = float("inf") if self.wanted.every_rewrite else self.wanted.seconds
        slow = self.rounds and self.rounds[0].seconds * 3 > limit
        feeds = [] if slow else [r.feeds for r in self.rounds[:2]]
        yield from judge_rewrites(
            self.rewrites_done,
            feeds,
            seed=self.wanted.seed,
            seconds=limit,
            seconds_of_model=limit / 2,
        )

    def _prepare(self) -> None:
        """Compute the model in f64, and create further trials within the time limit."""
        self.tell("f64", None)
        by_name = self.wanted.by_node and fits_in_memory(self.source)
        try:
            if by_name:
                wide, values = wide_values(self.source, self.inputs)
                self.wide = {r.name: values[r.value] for r in self.source.results}
                self.values = StageValues(check_inputs(self.source, self.inputs))
                self.names = ByName(self.values.of(self.source), values)
            else:
                wide, self.wide = wide_results(self.source, self.inputs)
            self.narrow = wide.narrow
        except CompileError:
            pass  # The f64 model fails if rounding decides an index or a size.
        seconds = self.wanted.seconds
        first = make_round(self.source, "random", self.inputs, self.wanted.seed)
        if first is None or (self.wanted.quick and RUNS_OF_NOISE * first.seconds > seconds):
            return
        self.rounds.append(first)
        n_stages = 30
        if n_stages * first.seconds < seconds:
            more = make_rounds(self.source, self.wanted.seed, seconds=seconds / 4)
            affordable = int(seconds / (n_stages * max(first.seconds, 1e-9)))
            self.rounds += more[:affordable]

    def _stage(
        self, stage: str, graph: Graph, events: Sequence[Event]
    ) -> tuple[Finding, Mapping[str, Any] | None]:
        """Return a stage's finding for all inputs, and the stage's results for the first inputs."""
        values: Mapping[str, Any] = {}

        def compute() -> Mapping[str, Any]:
            nonlocal values
            if self.values is None:
                return reference(graph, self.inputs)
            values = self.values.of(graph)
            return {r.name: values[r.value] for r in graph.results}

        try:
            found, made = self._compared(stage, compute)
        except CompileError as e:
            return Finding(stage, (), 0.0, objection=f"the graph cannot be computed: {e}"), None
        if self.names is not None:
            nodes = self.names.errors(stage, graph, values, self.wanted.tolerance)
            found = replace(found, nodes=nodes)
        return replace(found, objection=self._objection(made, graph, events)), made

    def _objection(self, made: Mapping[str, Any], graph: Graph, events: Sequence[Event]) -> str:
        """Return a description of a failure on further inputs, or "" if there is no failure."""
        tolerance = max(self.wanted.tolerance, LARGEST_STEPS if self.in_codes else 0.0)
        budget = budget_of(events, tolerance)
        for r in self.rounds:
            first = r is self.rounds[0]
            name, verdict = (
                r.objection_to(made, graph, budget) if first else r.objection(graph, budget)
            )
            if verdict is not FINE:
                return f"{name} on {r.kind} inputs: {verdict.objection}"
        return ""

    def _finding(self, stage: str, compute: Callable[[], Mapping[str, Any]]) -> Finding:
        return self._compared(stage, compute)[0]

    def _compared(
        self, stage: str, compute: Callable[[], Mapping[str, Any]]
    ) -> tuple[Finding, Mapping[str, Any]]:
        """Compute the model on the first inputs; return the finding and the results."""
        self.tell(stage, None)
        start = perf_counter()
        made = compute()
        seconds = perf_counter() - start
        differences = compare(made, self.yardstick.outputs)
        return Finding(stage, differences, seconds, wide=errors_of(made, self.wide)), made


def begin_check(
    model: bytes | Path | Graph,
    options: Options,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    given: Mapping[str, Any] | None = None,
    peers: Mapping[str, Run] | None = None,
    wanted: Wanted | None = None,
    tell: Progress = lambda step, event: None,
) -> Check:
    """Read the model, run the passes, and compute the yardstick; return the check.

    Errors: any error of reading the model or the pipeline, E-INPUT-*, E-RUN-* for inputs that the
    model rejects.
    """
    wanted = wanted or Wanted(tolerance=precision_mode(options.precision).tolerance)
    graph = model if isinstance(model, Graph) else load(model)
    inputs = inputs_of(graph, wanted.seed, shapes, given)
    sizes = _shapes_of(inputs)
    source = specialize(graph, sizes) if sizes else graph
    done, broken = Rewrites(), ""
    tell("passes", None)
    gate = options.gate
    try:
        run_pipeline(source, options.passes, watch=done.watch, progress=done.progress, gate=gate)
        if isinstance(gate, AllBut):
            require_known_rules(gate)
    except PassBug as e:
        broken = str(e)
        done.end(e.pass_name, source)
    tell(YARDSTICK, None)
    yardstick = yardstick_of(model, source, inputs, peers or {}, wanted.tolerance)
    in_codes = rounds_to_codes(source)
    return Check(
        graph, source, options, inputs, yardstick, wanted, tell, done, broken, in_codes=in_codes
    )


def _shapes_of(inputs: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v.shape for k, v in inputs.items() if hasattr(v, "shape")}
