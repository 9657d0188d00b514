"""Tests of the golden trace: it has the declared shapes and equals a trace created now."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from app.fixtures import JOB_ID, payloads, stage_parts
from app.wire.shapes import fields_of_shape
from app.wire.shapes.events import EVENTS
from tests.app.schema import check_shape

# The shape of each kind of file in the description.
SCHEMAS = {
    "about": "About",
    "samples": "Samples",
    "pipelines": "Pipelines",
    "operators": "Operators",
    "job": "Job",
    "result": "Result",
    "platforms": "Platforms",
    "profile": "Profile",
    "placements": "Placements",
    "placement": "Placement",
    "numerics": "Numerics",
    "numerics-values": "CheckedValues",
    "targets": "Targets",
    "target": "TargetCode",
    "union": "Union",
    "provenance": "Provenance",
    "error": "Failure",
    "stage-graph": "StageGraph",
    "stage-delta": "StageDelta",
    "stage-steps": "Steps",
    "stage-text": "StageText",
    "stage-diff": "StageDiff",
    "kernel-computation": "KernelText",
    "kernel-schedule": "KernelText",
    "kernel-loops": "KernelText",
    "kernel-llvm": "KernelText",
    "kernel-asm": "KernelText",
    "kernel-links": "KernelLinks",
    "neighbours": "Neighbours",
}


def kind(name: str) -> str:
    return re.sub(r"-\d+-", "-", name)


@pytest.fixture(scope="module")
def golden(repository) -> dict[str, Any]:
    folder = repository / "tests" / "golden" / "wire"
    return {p.stem: json.loads(p.read_text(encoding="utf-8")) for p in folder.glob("*.json")}


@pytest.fixture(scope="module")
def fresh() -> dict[str, Any]:
    return dict(payloads())


@pytest.mark.parametrize("made", ["golden", "fresh"])
def test_every_payload_of_a_trace_has_the_shape_of_its_kind(made, request):
    trace = request.getfixturevalue(made)
    assert {kind(name) for name in trace} == {*SCHEMAS, "events"}
    for name, payload in trace.items():
        if name != "events":
            check_shape(payload, SCHEMAS[kind(name)], name)
    for event in trace["events"]:
        given = {"at": event["event"], **event["data"]}
        fields = fields_of_shape(EVENTS[event["event"]])
        missing = {k for k, f in fields.items() if f.is_required and k not in given}
        assert not missing, f"{given}: without {missing}"
        assert not given.keys() - fields.keys() - {"at"}, given


def test_the_golden_trace_holds_together(golden):
    stages = golden["result"]["stages"]
    assert golden["result"]["complete"]
    for stage, parts in stage_parts(stages):
        for part in parts:
            assert golden[f"stage-{stage}-{part}"]["stage"] == stage
    events = golden["events"]
    assert [e["id"] for e in events] == list(range(1, len(events) + 1))
    passes = [e["data"]["stage"] for e in events if e["event"] == "pass"]
    assert passes == [row["stage"] for row in stages[1:]]
    assert events[-1]["event"] == "finished"
    assert golden["job"]["id"] == golden["result"]["job"] == JOB_ID


def test_a_trace_made_today_has_the_same_files(golden, fresh):
    assert {kind(n) for n in fresh} == {kind(n) for n in golden}, (
        "run python -m app.fixtures tests/golden/wire"
    )


def test_nothing_of_the_machine_is_in_a_trace(fresh):
    text = json.dumps(fresh)
    assert not re.search(r'"(path|cache)":', text)
    assert "/tmp" not in text
    assert fresh["result"]["host"]["name"] == "a machine"
