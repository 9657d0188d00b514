"""The trace that both sides' tests read has the shapes of the contract, and those of today."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from app.api import ROUTES
from app.api.openapi import description
from app.fixtures import JOB_ID, payloads
from tests.app.schema import check

# Which shape of the description each kind of file has.
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


def test_the_golden_trace_follows_the_contract(golden):
    described = description(ROUTES)
    assert {kind(name) for name in golden} == {*SCHEMAS, "events"}
    for name, payload in golden.items():
        if name != "events":
            check(payload, described["components"]["schemas"][SCHEMAS[kind(name)]], described, name)


def test_the_golden_trace_holds_together(golden):
    stages = golden["result"]["stages"]
    assert golden["result"]["complete"]
    for row in stages:
        own = ("graph", "delta", "text") if row["graph_stage"] == row["stage"] else ()
        for part in (*own, "steps", "diff"):
            assert golden[f"stage-{row['stage']}-{part}"]["stage"] == row["stage"]
    events = golden["events"]
    assert [e["id"] for e in events] == list(range(1, len(events) + 1))
    passes = [e["data"]["stage"] for e in events if e["event"] == "pass"]
    assert passes == [row["stage"] for row in stages[1:]]
    assert events[-1]["event"] == "finished"
    assert golden["job"]["id"] == golden["result"]["job"] == JOB_ID


def test_a_trace_made_today_has_the_same_kinds_of_files_and_fields(golden, fresh):
    assert {kind(n) for n in fresh} == {kind(n) for n in golden}
    for wanted in {kind(n) for n in fresh}:
        old = fields_of([v for n, v in golden.items() if kind(n) == wanted])
        new = fields_of([v for n, v in fresh.items() if kind(n) == wanted])
        assert old == new, f"{wanted}: run python -m app.fixtures tests/golden/wire"


def test_nothing_of_the_machine_is_in_a_trace(fresh):
    text = json.dumps(fresh)
    assert not re.search(r'"(path|cache)":', text)
    assert "/tmp" not in text
    assert fresh["result"]["host"]["name"] == "a machine"


def fields_of(payloads: list[Any]) -> set[str]:
    """The names of the fields at the top of some payloads, or of their first items."""
    return set().union(*(p if isinstance(p, dict) else p[0] for p in payloads))
