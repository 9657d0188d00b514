"""A compilation or a run as Chrome trace events, which Perfetto and chrome://tracing can open.

Source: "Trace Event Format" of the Catapult project. Complete events ("X") have times in
microseconds; metadata events ("M") name processes and threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from compiler.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A time span of `seconds`, with a name and displayed details.

    `inside` has the nested spans. The first nested span begins with the outer span, each later one
    at the end of its predecessor.
    """

    name: str
    seconds: float
    facts: Mapping[str, Any] = field(default_factory=dict)
    inside: Sequence[Span] = ()


@dataclass(frozen=True, slots=True)
class Track:
    """A sequence of spans; `starts` has their starts in seconds, None for contiguous spans."""

    process: str
    name: str
    spans: Sequence[Span]
    starts: Sequence[float] | None = None


def trace_events(tracks: Sequence[Track], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON of a trace. `facts` describe the subject: model, machine, versions."""
    processes = list(dict.fromkeys(t.process for t in tracks))
    events: list[dict[str, Any]] = []
    for pid, process in enumerate(processes, 1):
        events.append(_named("process_name", pid, 0, process))
        for tid, track in enumerate((t for t in tracks if t.process == process), 1):
            events.append(_named("thread_name", pid, tid, track.name))
            starts = track.starts or _one_behind_another(track.spans)
            for start, span in zip(starts, track.spans, strict=True):
                events += _events(span, start, pid, tid)
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": dict(facts)}


def _named(kind: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}}


def _one_behind_another(spans: Iterable[Span], start: float = 0.0) -> list[float]:
    starts: list[float] = []
    for span in spans:
        starts.append(start)
        start += span.seconds
    return starts


def _events(span: Span, start: float, pid: int, tid: int) -> Iterator[dict[str, Any]]:
    yield {
        "ph": "X",
        "name": span.name,
        "ts": start * 1e6,
        "dur": span.seconds * 1e6,
        "pid": pid,
        "tid": tid,
        "args": dict(span.facts),
    }
    for at, inner in zip(_one_behind_another(span.inside, start), span.inside, strict=True):
        yield from _events(inner, at, pid, tid)


@dataclass(frozen=True, slots=True)
class KernelTime:
    """A kernel in a trace. Units: seconds, operations, bytes.

    `seconds` is the median of `n` runs, and `low` to `high` its 95 % interval.
    """

    name: str
    seconds: float
    low: float
    high: float
    n: int
    flops: int
    bytes_read: int
    bytes_written: int
    predicted: float | None
    bound: str
    origins: Sequence[str]

    def facts(self) -> dict[str, Any]:
        """Return the details shown on a click."""
        return {
            "median_us": self.seconds * 1e6,
            "median_95_percent_us": [self.low * 1e6, self.high * 1e6],
            "rounds": self.n,
            "flops": self.flops,
            "gflops_per_second": self.flops / self.seconds / 1e9 if self.seconds else None,
            "bytes_read": self.bytes_read,
            "bytes_written": self.bytes_written,
            "predicted_us": None if self.predicted is None else self.predicted * 1e6,
            "bound_by": self.bound,
            "onnx_nodes": list(self.origins),
        }


def compile_tracks(
    phases: Sequence[tuple[str, float]],
    passes: Sequence[Span],
    passes_in: str = "passes",
) -> list[Track]:
    """Return a track of a compilation's phases, and a track of the passes within their phase.

    A phase may be entered repeatedly; the passes are drawn inside its first occurrence.
    """
    spans = [Span(name, seconds) for name, seconds in phases]
    starts = _one_behind_another(spans)
    begin = next((at for at, s in zip(starts, spans, strict=True) if s.name == passes_in), 0.0)
    return [
        Track("compiling", "phases", spans),
        Track("compiling", "passes", passes, _one_behind_another(passes, begin)),
    ]


def run_tracks(kernels: Sequence[KernelTime], threads: int) -> list[Track]:
    """Return tracks of one run: each kernel's median time, and its lower bound on the machine.

    The times are those of kernels run in sequence, even if the program runs them concurrently.
    """
    starts = _one_behind_another([Span(k.name, k.seconds) for k in kernels])
    on = "1 thread" if threads == 1 else f"each on up to {threads} threads"
    whole = sum(k.seconds for k in kernels)
    inside = [Span(k.name, k.seconds, k.facts()) for k in kernels]
    all_of_them = Span("all kernels", whole, {"kernels": len(kernels)}, inside)
    least = [
        (at, Span(k.name, k.predicted, {"bound_by": k.bound}))
        for at, k in zip(starts, kernels, strict=True)
        if k.predicted is not None
    ]
    return [
        Track("running", f"kernels, measured, {on}", [all_of_them]),
        Track(
            "running",
            "lower bound of each",
            [span for _, span in least],
            [at for at, _ in least],
        ),
    ]
