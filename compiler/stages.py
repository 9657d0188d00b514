"""The timed stages of a compilation: first the passes, then machine code for known shapes."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import field, replace
from time import perf_counter

from compiler.dataclass import dataclass
from compiler.ir.graph import Graph
from compiler.limits import check
from compiler.options import Options, Progress
from compiler.passes.pipeline.run import run_pipeline
from compiler.runtime.build import build_program
from compiler.runtime.built import Built, Stage
from compiler.targets.options import CodeOptions
from compiler.trace import Event, Trace


@dataclass
class Clock:
    """A timer of compilation steps that reports progress."""

    progress: Progress | None = None
    stages: list[Stage] = field(default_factory=list)

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        """Time one step: the block of the `with` statement."""
        check(name)
        if self.progress is not None:
            self.progress(name, None)
        start = perf_counter()
        yield
        self.stages.append(Stage(name, perf_counter() - start))

    def event(self, event: Event) -> None:
        """Report the end of a pass."""
        if self.progress is not None:
            self.progress(event.name, event)


def optimise(graph: Graph, options: Options, clock: Clock) -> tuple[Graph, Trace | None]:
    """Run the passes; return the optimised graph, and the trace if `options.trace` is set."""
    with clock.stage("passes"):
        optimised, trace = run_pipeline(
            graph,
            options.passes,
            verify=options.verify,
            keep_declined=options.trace,
            progress=clock.event,
            gate=options.gate,
        )
    return optimised, trace if options.trace else None


def portable(source: Graph, optimised: Graph, options: Options) -> Graph:
    """Optimise the graph without the passes that improve only generated code."""
    pipeline = options.passes.portable
    if pipeline.lines == options.passes.lines:
        return optimised
    made, _ = run_pipeline(
        source, pipeline, verify=options.verify, keep_declined=False, gate=options.gate
    )
    return made


def build(source: Graph, options: Options, clock: Clock) -> Built:
    """Compile a graph whose inputs have fixed shapes, from the passes to machine code."""
    return generate(*optimise(source, options, clock), options.code, clock)


def generate(graph: Graph, trace: Trace | None, code: CodeOptions, clock: Clock) -> Built:
    """Generate the code of an optimised graph; add the order of launches to the trace."""
    built = build_program(graph, code, clock.stage)
    if trace is not None:
        made = (built.limited, built.order)
        trace = Trace([*trace.events, *(event for event in made if event is not None)])
    return replace(built, trace=trace, stages=tuple(clock.stages))


def improve(quick: Built, code: CodeOptions) -> Built:
    """Compile the graph of `quick` with tier-1 code; the result has the stages of both
    compilations."""
    clock = Clock()
    graph, trace = quick.graph, quick.trace
    if quick.order is not None:  # use the graph after the passes, before its nodes were reordered
        made = (quick.limited, quick.order)
        graph = (quick.limited or quick.order).before
        trace = trace and Trace([e for e in trace.events if not any(e is m for m in made)])
    made = generate(graph, trace, replace(code, tier=1), clock)
    return replace(made, stages=(*quick.stages, *clock.stages))
