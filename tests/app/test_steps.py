"""Payloads of steps: every applied step is declared in the catalogue, and savings add up."""

from __future__ import annotations

from pathlib import Path

import pytest

import compiler
from app.wire.catalogue import pipelines
from app.wire.steps import steps_payload
from compiler.figures.passes import supply_of
from compiler.machine.machine import estimated
from compiler.targets.target import by_name

SAMPLE = Path(__file__).resolve().parents[2] / "samples" / "digits_cnn.onnx"


def test_the_catalogue_has_an_example_and_a_near_miss_of_every_applied_step() -> None:
    catalogue = pipelines()
    rules = {r["name"]: r for r in catalogue["rules"]}
    shared = {k["name"]: k for k in catalogue["shared_steps"]}
    kinds = {p["name"]: {k["name"]: k for k in p["steps"]} for p in catalogue["passes"]}
    graph = compiler.load(SAMPLE)
    trace = compiler.compile(graph, inputs={"image": (1, 1, 8, 8)}).trace
    assert trace is not None
    n_applied = 0
    for event in trace.events:
        for step in event.steps:
            if step.outcome == "applied":
                known = {**shared, **rules, **kinds.get(event.name, {})}[step.rule]
                assert known["words"]
                assert known["example"]["before"] != known["example"]["after"]
                assert known["near_miss"]
                n_applied += 1
    assert n_applied >= 15


def test_the_saved_traffic_of_fusion_is_what_is_neither_written_nor_read() -> None:
    graph = compiler.parse(
        "graph g(x: f32[32,32]) {\n"
        "  a: f32[32,32] = exp(x)\n  y: f32[32,32] = sqrt(a)\n  return y\n}"
    )
    trace = compiler.compile(graph, pipeline="fuse").trace
    assert trace is not None
    (event,) = (e for e in trace.events if e.name == "fuse")
    machine = estimated(by_name("x86-64-v3"))
    applied = [s for s in event.steps if s.outcome == "applied"]
    (step,) = steps_payload(1, applied, supply_of(event.before, machine))["steps"]
    saved = step["saves"]
    assert saved is not None
    assert (saved["bytes_written"], saved["bytes_read"], saved["bytes"]) == (4096, 4096, 8192)
    assert saved["supplied_by"] == "L1"
    assert saved["seconds"] == pytest.approx(8192 / machine.l1_bytes_per_second)


def test_values_lie_in_the_smallest_level_that_holds_the_whole_graph() -> None:
    machine = estimated(by_name("x86-64-v3"))

    def level(size: str) -> str:
        text = f"graph g(x: f32[{size}]) {{\n  y: f32[{size}] = exp(x)\n  return y\n}}"
        return supply_of(compiler.parse(text), machine).level

    n = machine.l2_bytes // 8  # operand and result fill the cache L2
    assert [level(str(n)), level(str(n + 1)), level("N")] == ["L2", "L3", "DRAM"]
