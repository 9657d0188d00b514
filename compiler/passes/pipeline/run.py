"""Run a pipeline: each pass in order, verified, timed and recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter

from compiler.errors import CompileError
from compiler.ir.graph import Graph
from compiler.ir.verify import Checked, verify
from compiler.passes.pipeline.pipeline import Line, Pipeline
from compiler.passes.pipeline.text import as_pipeline
from compiler.trace import Event, Gate, Log, Trace, Watch

Progress = Callable[[Event], None]


class PassBug(RuntimeError):
    """A pass of ours failed or broke the graph: names the pass, and the passes that ran before."""

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
    """Apply the passes of a pipeline; the graph after them, and one event per pass.

    `verify=False` leaves out the checks after each pass, `keep_declined=False` the steps that were
    considered and declined. `progress` is called after each pass with its event, `gate` is asked
    before each rewrite, `watch` told about each rewrite of a rule.
    Errors: E-PIPELINE-* for the pipeline, what `verify` raises for the graph that was given;
    PassBug for a bug of ours.
    """
    lines = as_pipeline(pipeline).lines
    trace = Trace()
    checked = _check(graph, None) if verify else None
    for x in lines:
        ran = [e.name for e in trace.events]
        log = Log([], keep_declined, x.name, gate, watch)
        start = perf_counter()
        after = _apply(x, graph, log, ran)
        middle = perf_counter()
        if verify and after is not graph:
            try:
                checked = _check(after, checked)
            except Exception as e:
                raise PassBug(f"broke the graph: {e}", x.name, ran) from e
        event = Event(
            x.name,
            graph,
            after,
            middle - start,
            perf_counter() - middle,
            tuple(log.steps),
            x.declared.title,
        )
        trace.events.append(event)
        graph = after
        if progress is not None:
            progress(event)
    return graph, trace


def _apply(x: Line, graph: Graph, log: Log, ran: Sequence[str]) -> Graph:
    try:
        return x.declared.run(graph, log, **x.options)
    except Exception as e:
        if isinstance(e, CompileError) and e.code == "E-MODEL-FILE":
            # Not our doing: the file that holds the weights has gone meanwhile.
            raise
        raise PassBug(f"{type(e).__name__}: {e}", x.name, ran) from e


def _check(graph: Graph, last: Checked | None) -> Checked:
    return Checked(graph, verify(graph, last=last))
