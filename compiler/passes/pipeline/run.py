"""Execution of a pipeline: each pass in order, verified, timed and recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter

from compiler.errors import CompileError
from compiler.ir.closing import with_closed_types
from compiler.ir.graph import Graph
from compiler.ir.verify import Checked, verify
from compiler.limits import check, is_limit
from compiler.passes.engine.account import complete
from compiler.passes.pipeline.pipeline import Line, Pipeline, Repeat
from compiler.passes.pipeline.text import as_pipeline
from compiler.trace import Event, Gate, Log, Trace, Watch

Progress = Callable[[Event], None]


class PassBug(RuntimeError):
    """The error of a pass that failed or broke the graph; names this and all earlier passes."""

    def __init__(self, message: str, pass_name: str, ran: Sequence[str]) -> None:
        before = f"after {', '.join(ran)}" if ran else "as the first pass"
        super().__init__(f"{pass_name} ({before}): {message}")
        self.pass_name = pass_name
        self.ran = tuple(ran)


def run_pipeline(
    graph: Graph,
    pipeline: str | Pipeline | Sequence[Line] = "default",
    *,
    verify: bool = True,
    keep_declined: bool = True,
    progress: Progress | None = None,
    gate: Gate | None = None,
    watch: Watch | None = None,
) -> tuple[Graph, Trace]:
    """Apply the passes of a pipeline; return the final graph, and an event per pass.

    `verify=False` skips the checks after each pass. `keep_declined=False` drops declined steps.
    `progress` is called after each pass with its event, `gate` before each rewrite, and `watch`
    with each rewrite of a rule. Errors: E-PIPELINE-* for the pipeline, the errors of `verify` for
    the given graph, PassBug for a bug of a pass.
    """
    lines = as_pipeline(pipeline).lines
    run = _Run(graph, verify, keep_declined, progress, gate, watch)
    for x in lines:
        if isinstance(x, Repeat):
            run.repeat(x)
        else:
            run.line(x)
    return run.graph, run.trace


class _Run:
    """One run of a pipeline: the current graph, and the events."""

    def __init__(
        self,
        graph: Graph,
        verify: bool,
        keep_declined: bool,
        progress: Progress | None,
        gate: Gate | None,
        watch: Watch | None,
    ) -> None:
        self.graph, self.trace = graph, Trace()
        self.keep_declined, self.progress = keep_declined, progress
        self.gate, self.watch = gate, watch
        self.verify = verify
        self.checked = _check(graph, None) if verify else None

    def repeat(self, group: Repeat) -> None:
        """Run the lines of a group until an iteration changes nothing.

        An idempotent pass is skipped if the graph has not changed since its last run.
        """
        left: dict[int, Graph] = {}
        for _ in range(group.at_most):
            before = self.graph
            for i, x in enumerate(group.lines):
                if left.get(i) is not self.graph:
                    self.line(x)
                    if x.declared.idempotent:
                        left[i] = self.graph
            if self.graph is before:
                return

    def line(self, x: Line) -> None:
        """Run one pass, and verify, time and record it."""
        check(x.name)
        before = self.graph
        ran = [e.name for e in self.trace.events]
        log = Log([], self.keep_declined, x.name, self.gate, self.watch)
        start = perf_counter()
        after = _apply(x, before, log, ran)
        middle = perf_counter()
        if self.verify and after is not before:
            try:
                self.checked = _closed_and_checked(after, self.checked)
                after = self.checked.graph
            except Exception as e:
                if isinstance(e, MemoryError) or is_limit(e):
                    raise
                raise PassBug(f"broke the graph: {e}", x.name, ran) from e
        end = perf_counter()
        steps = complete(log.steps, before, after)
        event = Event(x.name, before, after, middle - start, end - middle, steps, x.declared.title)
        self.trace.events.append(event)
        self.graph = after
        if self.progress is not None:
            self.progress(event)


def _apply(x: Line, graph: Graph, log: Log, ran: Sequence[str]) -> Graph:
    try:
        return x.declared.run(graph, log, **x.options)
    except Exception as e:
        if isinstance(e, MemoryError) or is_limit(e):
            raise
        if isinstance(e, CompileError) and e.code == "E-MODEL-FILE":
            # This is no bug of the pass: the weight file was removed after import.
            raise
        raise PassBug(f"{type(e).__name__}: {e}", x.name, ran) from e


def _closed_and_checked(graph: Graph, last: Checked | None) -> Checked:
    """Verify a graph; if inference finds more sizes than the recorded types, record these first.

    The elements of a replacement may be known although those of the original were not. Types of
    readers that depend on these elements then have known sizes.
    """
    try:
        return _check(graph, last)
    except CompileError as e:
        closed = with_closed_types(graph) if e.code == "E-GRAPH-TYPE" else graph
        if closed is graph:
            raise
        return _check(closed, last)


def _check(graph: Graph, last: Checked | None) -> Checked:
    return Checked(graph, verify(graph, last=last))
