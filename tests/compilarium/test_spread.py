"""Tests of `--spread`, the choice between sharing loops and sharing branches among threads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import compiler
from compilarium.group import commands
from tests.platforms import needs_own_threads
from tests.wired_graphs import wired

pytestmark = needs_own_threads

BRANCHES = ("--threads", "2", "--spread", "branches")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with many branches and joins."""
    path = tmp_path_factory.mktemp("models") / "wired.onnx"
    path.write_bytes(compiler.to_onnx(wired(20, 2)))
    return path


def told(command: str, model: Path, *arguments: str) -> Any:
    done = CliRunner().invoke(commands, [command, str(model), *arguments, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_threads_may_share_the_branches_of_a_graph(model: Path) -> None:
    assert "by_plan.0" in told("compile", model, *BRANCHES, "--emit", "llvm")["text"]
    assert "by_plan.0" not in told("compile", model, *BRANCHES[:2], "--emit", "llvm")["text"]


def test_runs_give_what_one_thread_gives(model: Path) -> None:
    alone, shared = (
        told("run", model, "--random", "3"),
        told("run", model, *BRANCHES, "--random", "3"),
    )
    assert shared["outputs"] == alone["outputs"]
    assert any("in parallel, in about" in note for note in shared["notes"])


def test_what_is_timed_is_what_was_asked_for(model: Path) -> None:
    timed = told("bench", model, *BRANCHES, "--seconds", "0", "--no-pin")
    assert any("in parallel, in about" in note for note in timed["notes"])


def test_that_nothing_runs_side_by_side_is_said(tmp_path: Path) -> None:
    path = tmp_path / "chain.onnx"
    path.write_bytes(compiler.to_onnx(wired(1, 1)))
    assert any(
        "no branches" in note for note in told("run", path, *BRANCHES, "--random", "1")["notes"]
    )


def test_other_ways_are_refused(model: Path) -> None:
    done = CliRunner().invoke(commands, ["run", str(model), "--spread", "luck"])
    assert done.exit_code == 2
    assert "luck" in done.stderr
