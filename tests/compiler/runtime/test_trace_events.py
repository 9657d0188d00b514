"""Tests of Chrome trace events: their content, and the nesting that viewers require."""

from __future__ import annotations

import json
from typing import Any

import pytest

from compiler.runtime.trace_events import (
    KernelTime,
    Span,
    compile_tracks,
    run_tracks,
    trace_events,
)

KERNELS = [
    KernelTime("conv", 3e-6, 2.9e-6, 3.2e-6, 20, 6000, 100, 50, 2e-6, "compute", ("Conv_0",)),
    KernelTime("words", 5e-6, 4e-6, 6e-6, 20, 0, 7, 9, None, "", ("Concat_1", "Concat_2")),
    KernelTime("add", 1e-6, 1e-6, 1.5e-6, 20, 10, 80, 40, 9e-7, "L1", ()),
]


def of(trace: dict[str, Any], process: str, thread: str) -> list[dict[str, Any]]:
    """Return the complete events of one track."""
    names = {
        (e["name"], e["pid"], e["tid"]): e["args"]["name"]
        for e in trace["traceEvents"]
        if e["ph"] == "M"
    }
    return [
        e
        for e in trace["traceEvents"]
        if e["ph"] == "X"
        and names["process_name", e["pid"], 0] == process
        and names["thread_name", e["pid"], e["tid"]].startswith(thread)
    ]


def test_kernels_follow_each_other_inside_of_one_event() -> None:
    trace = trace_events(run_tracks(KERNELS, 2), {"model": "m"})
    whole, *kernels = of(trace, "running", "kernels, measured, each on up to 2 threads")
    assert (whole["ts"], whole["dur"]) == (0.0, pytest.approx(9.0))
    assert [e["name"] for e in kernels] == ["conv", "words", "add"]
    assert [e["ts"] for e in kernels] == pytest.approx([0.0, 3.0, 8.0])
    assert sum(e["dur"] for e in kernels) == pytest.approx(whole["dur"])
    facts = kernels[0]["args"]
    assert facts["flops"] == 6000
    assert facts["gflops_per_second"] == pytest.approx(2.0)
    assert facts["median_95_percent_us"] == pytest.approx([2.9, 3.2])
    assert facts["predicted_us"] == pytest.approx(2.0)
    assert kernels[1]["args"]["predicted_us"] is None
    assert json.loads(json.dumps(trace))["otherData"] == {"model": "m"}


def test_predictions_stand_below_what_was_measured() -> None:
    trace = trace_events(run_tracks(KERNELS, 1), {})
    least = of(trace, "running", "lower bound")
    assert [(e["name"], e["ts"], e["dur"]) for e in least] == [
        ("conv", 0.0, pytest.approx(2.0)),
        ("add", pytest.approx(8.0), pytest.approx(0.9)),
    ]


def test_passes_begin_where_their_phase_does() -> None:
    phases = [("read", 0.25), ("passes", 0.5), ("code", 1.0)]
    passes = [Span("fold", 0.125), Span("fuse", 0.25, {"nodes_after": 3})]
    trace = trace_events(compile_tracks(phases, passes), {})
    assert [e["ts"] for e in of(trace, "compiling", "phases")] == [0.0, 0.25e6, 0.75e6]
    assert [e["ts"] for e in of(trace, "compiling", "passes")] == [0.25e6, 0.375e6]
    assert of(trace, "compiling", "passes")[1]["args"] == {"nodes_after": 3}
