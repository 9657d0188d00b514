"""Tests of `compilarium place`: tables, JSON, written files and errors."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from compilarium.group import commands
from compiler.place.platform_text import load_platform, parse_platform
from compiler.place.schedule import Schedule
from compiler.place.tasks_text import parse_tasks

MODEL = Path(__file__).resolve().parents[2] / "samples" / "digits_cnn.onnx"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(commands, ["place", str(MODEL), *arguments])


def test_json_has_the_whole_schedule() -> None:
    done = run("--devices", "gpu", "--scheduler", "peft", "--ahead", "1", "--json")
    assert done.exit_code == 0, done.output
    data = json.loads(done.output)
    made = Schedule.from_json(data["schedule"])
    assert data["ok"]
    assert data["n_tasks"] == len(made.slots)
    assert made.ahead == 1
    assert made.makespan_seconds >= made.bound_seconds > 0
    assert all(t["origins"] for t in data["schedule"]["tasks"])
    demand, double, early = data["hiding"]
    assert double["makespan_seconds"] == made.makespan_seconds
    assert demand["makespan_seconds"] >= double["makespan_seconds"] >= early["makespan_seconds"]


def test_people_see_a_chart_and_tables(tmp_path: Path) -> None:
    chart = tmp_path / "chart.svg"
    done = run("--devices", "npu", "-o", str(chart))
    assert done.exit_code == 0, done.output
    assert "tasks by iterated in" in done.output
    assert "#" in done.output.splitlines()[0] + done.output.splitlines()[1]
    assert "operands arrive" not in done.output, "without transfers, there is no table"
    assert chart.read_text().startswith("<svg")


def test_what_bringing_operands_earlier_saves_is_shown(tmp_path: Path) -> None:
    slow = run("--devices", "npu", "--emit", "platform").output
    path = tmp_path / "slow.toml"
    path.write_text(
        re.sub(r"(?m)^(flops|bytes)_per_second = .*", r"\1_per_second = 1e6", slow, count=2)
    )
    done = run("--devices", str(path))
    assert done.exit_code == 0, done.output
    for way in ("on demand", "double-buffered", "as early as memory permits", "peak in sram"):
        assert way in done.output


def test_texts_are_printed_and_read_back(tmp_path: Path) -> None:
    tasks = parse_tasks(run("--devices", "board", "--emit", "tasks").output)
    assert tasks.tasks
    shown = run("--devices", "board", "--emit", "platform").output
    assert parse_platform(shown) == load_platform("board")
    path = tmp_path / "placed.graph"
    assert run("--devices", "gpu", "--emit", "graph", "-o", str(path)).exit_code == 0
    assert path.read_text().startswith("graph digits_cnn(image: f32[N,1,8,8]) {")


def test_cores_of_this_machine_are_a_platform() -> None:
    platform = parse_platform(run("--devices", "host:3", "--emit", "platform").output)
    assert [d.name for d in platform.devices] == ["core0", "core1", "core2"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--devices", "nowhere"), "E-PLATFORM-FILE"),
        (("--devices", "host:0"), "E-OPTION-VALUE"),
        (("--devices", "host:x"), "E-OPTION-VALUE"),
        (("--devices", f"host:{'9' * 5000}"), "E-OPTION-VALUE"),
        (("--devices", "gpu", "--scheduler", "magic"), "E-OPTION-VALUE"),
        (("--devices", "gpu", "--pipeline", "magic"), "E-PIPELINE-PASS"),
    ],
)
def test_what_is_not_there_is_said(arguments: tuple[str, ...], code: str) -> None:
    done = run(*arguments, "--json")
    assert done.exit_code == 1
    error = json.loads(done.output)["error"]
    assert error["code"] == code
    assert error["hint"]
