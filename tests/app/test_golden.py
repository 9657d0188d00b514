"""Tests of the golden trace: it has the declared shapes, and the files and texts of a new trace."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from app.fixtures import JOB_ID, payloads, stage_parts
from app.wire.shapes import fields_of_shape
from app.wire.shapes.events import EVENTS
from compiler.schedule.language import replay
from compiler.schedule.language.move import MOVES
from tests.app.schema import check_shape

assert replay.__doc__, "importing replay declares all moves"

REGENERATE = "run python -m app.fixtures tests/golden/wire"

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
    try:
        check_shapes(trace)
    except AssertionError as e:
        raise AssertionError(f"{e}; {REGENERATE}" if made == "golden" else str(e)) from e


def check_shapes(trace: dict[str, Any]) -> None:
    """Raise an error with the file if a payload lacks the shape of its kind."""
    found = {kind(name) for name in trace}
    assert found == {*SCHEMAS, "events"}, f"the kinds of files are {sorted(found)}"
    for name, payload in trace.items():
        if name != "events":
            check_shape(payload, SCHEMAS[kind(name)], name)
    for event in trace["events"]:
        given = {"at": event["event"], **event["data"]}
        fields = fields_of_shape(EVENTS[event["event"]])
        missing = {k for k, f in fields.items() if f.is_required and k not in given}
        assert not missing, f"{given}: without {missing}"
        unknown = given.keys() - fields.keys() - {"at"}
        assert not unknown, f"{given}: with {unknown}"


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
    assert {kind(n) for n in fresh} == {kind(n) for n in golden}, REGENERATE


def words_of(trace: dict[str, Any]) -> dict[tuple[str, str], str]:
    """Return the descriptions of named things (passes, planners) by kind of file, path and name.

    The words of a kernel depend on its schedule, and so on the machine.
    """
    found: dict[tuple[str, str], str] = {}

    def visit(value: Any, at: str) -> None:
        if isinstance(value, list):
            for item in value:
                visit(item, at)
        if not isinstance(value, dict):
            return
        if "name" in value and "words" in value:
            found[at, value["name"]] = value["words"]
        for key, item in value.items():
            visit(item, f"{at}.{key}")

    for name, payload in trace.items():
        visit(payload, kind(name))
    return {key: words for key, words in found.items() if key[0] != "result.kernels"}


def test_descriptions_of_the_golden_trace_are_up_to_date(golden, fresh):
    old, new = words_of(golden), words_of(fresh)
    assert {"result.stages", "result.memory.planner", "pipelines.passes"} <= {at for at, _ in old}
    changed = sorted(key for key in old.keys() & new.keys() if old[key] != new[key])
    assert not changed, f"{changed} differ; {REGENERATE}"


def test_passes_of_the_golden_trace_are_up_to_date(golden, fresh):
    old, new = ([s["name"] for s in trace["result"]["stages"]] for trace in (golden, fresh))
    assert old == new, REGENERATE
    assert golden["pipelines"]["presets"] == fresh["pipelines"]["presets"], REGENERATE


@pytest.mark.parametrize("made", ["golden", "fresh"])
def test_steps_of_a_schedule_have_the_words_of_moves(made, request):
    """The machine determines the moves of a kernel, but not their descriptions."""
    declared = {move.words for move in MOVES.values()}
    trace = request.getfixturevalue(made)
    schedules = [p for name, p in trace.items() if kind(name) == "kernel-schedule"]
    said = {step["words"] for payload in schedules for step in payload["steps"]}
    assert said
    assert said <= declared, f"{said - declared} differ; {REGENERATE}"


def test_nothing_of_the_machine_is_in_a_trace(fresh):
    text = json.dumps(fresh)
    assert not re.search(r'"(path|cache)":', text)
    assert "/tmp" not in text
    assert fresh["result"]["host"]["name"] == "a machine"
