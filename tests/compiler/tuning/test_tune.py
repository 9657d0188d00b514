"""Tests of a short tuning run: stored schedules, continuation, and use in programs."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

import compiler
from compiler.errors import CompileError
from compiler.machine.database import Database, machine_key
from compiler.runtime.inputs import random_inputs
from compiler.runtime.program import Program
from compiler.targets.options import CodeOptions
from compiler.tuning import tune as tuning
from compiler.tuning.explore import Walk, Why
from compiler.tuning.judge import Judge, Verdict
from compiler.tuning.task import tasks_of
from compiler.tuning.tune import tune

GRAPH = compiler.parse(
    """
    graph g(x: f32[40,96], w: f32[96,130], v: f32[130,30]) {
      a: f32[40,130] = matmul(x, w)
      b: f32[40,130] = relu(a)
      y: f32[40,30] = matmul(b, v)
      return y
    }
    """
)
OPEN = compiler.parse("graph g(x: f32[N,64]) {\n  y: f32[N,64] = exp(x)\n  return y\n}")


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in (
        ("CANDIDATE_SECONDS", 0.001),
        ("CONFIRM_SECONDS", 0.002),
        ("LEAST_VERIFYING_SECONDS", 0.05),
    ):
        monkeypatch.setattr(tuning, name, seconds)


def halved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count every candidate as twice as fast, also in the complete model."""

    def verdicts(self: Judge, texts: list[str], *_: object) -> list[Verdict]:
        found = [self._judged(text, 0.0) for text in texts]
        return [Verdict("right", 0.5, 1.0) if v.outcome == "right" else v for v in found]

    def profiles(a: Program, *_: object) -> tuple[dict[str, float], dict[str, float]]:
        names = [k.name for k in a.kernels]
        return dict.fromkeys(names, 2.0), dict.fromkeys(names, 1.0)

    monkeypatch.setattr(Judge, "verdicts", verdicts)
    monkeypatch.setattr(tuning, "_profiles", profiles)
    monkeypatch.setattr(tuning, "_in_turns", lambda *_: [(2.0, 1.0)])


def until_faster(why: Why) -> Callable[..., None]:
    """Return a search that ends once each kernel has a faster schedule, however long that takes."""

    def explore(walks: Sequence[Walk], *_: object) -> None:
        for walk in walks:
            while walk.best == 1:
                walk.step()
            walk.why_stopped = why

    return explore


@pytest.mark.parametrize("search", tuning.SEARCHES)
def test_a_model_is_tuned_and_stays_right(search: tuning.SearchName, tmp_path: Path) -> None:
    path = tmp_path / "schedules.sqlite"
    report = tune(GRAPH, budget_seconds=1.5, search=search, database=path)
    assert report.kernels
    assert sum(k.n_tried for k in report.kernels) > 0
    assert report.tuned_seconds <= report.untuned_seconds
    assert report.n_kept == sum(bool(e.schedule) for e in entries(path))
    inputs = random_inputs(GRAPH, 2)
    tuned = compiler.compile(GRAPH, tuned=str(path)).run(inputs)["y"]
    assert np.allclose(tuned, compiler.reference(GRAPH, inputs)["y"], rtol=1e-4, atol=1e-4)


def entries(path: Path) -> list[object]:
    return list(Database(path).entries(machine_key(CodeOptions())).values())


def test_what_is_faster_is_kept_and_used_by_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    halved(monkeypatch)
    monkeypatch.setattr(tuning, "explore", until_faster("budget"))
    path = tmp_path / "schedules.sqlite"
    told: list[str] = []
    report = tune(GRAPH, budget_seconds=2, search="random", database=path, tell=told.append)
    assert report.n_kept == len(report.kernels) > 0
    assert report.speedup == 2
    assert any("tried" in t for t in told)
    program = compiler.compile(GRAPH, tuned=str(path))
    assert "tuned on this machine" in program.notes[-1]
    policy = compiler.compile(GRAPH, tuned=False)
    assert [k.moves for k in program.kernels] != [k.moves for k in policy.kernels]
    inputs = random_inputs(GRAPH, 2)
    assert np.allclose(program.run(inputs)["y"], policy.run(inputs)["y"], rtol=1e-4, atol=1e-4)


def stopping(why: str, n: int) -> Callable[..., None]:
    """Return a search that judges some candidates, finds none, and stops."""

    def explore(walks: Sequence[Walk], *_: object) -> None:
        for walk in walks:
            walk.outcomes["right"], walk.n_batches, walk.why_stopped = n, 1, why  # type: ignore[assignment]

    return explore


def test_tuning_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    halved(monkeypatch)
    path = tmp_path / "schedules.sqlite"
    monkeypatch.setattr(tuning, "explore", stopping("budget", 3))
    tune(GRAPH, budget_seconds=5, search="random", database=path)
    monkeypatch.setattr(tuning, "explore", stopping("converged", 4))
    tune(GRAPH, budget_seconds=5, search="random", database=path)
    assert [(e.n_tried, e.why_stopped) for e in entries(path)] == [(7, "converged")] * 2
    again = tune(GRAPH, budget_seconds=5, search="random", database=path)
    assert [k.because for k in again.kernels] == ["known from the database"] * 2
    assert [e.n_tried for e in entries(path)] == [7] * 2


def test_an_interrupted_tuning_keeps_what_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    halved(monkeypatch)
    monkeypatch.setattr(tuning, "explore", until_faster("interrupted"))
    path = tmp_path / "schedules.sqlite"
    report = tune(GRAPH, budget_seconds=60, search="random", database=path)
    assert report.interrupted
    assert {(e.why_stopped, bool(e.schedule)) for e in entries(path)} == {("interrupted", True)}


def test_schedules_that_do_not_pay_in_the_model_are_let_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    halved(monkeypatch)
    monkeypatch.setattr(tuning, "explore", until_faster("budget"))
    monkeypatch.setattr(tuning, "_in_turns", lambda *_: [(1.0, 1.2)])
    path = tmp_path / "schedules.sqlite"
    report = tune(GRAPH, budget_seconds=2, search="random", database=path)
    assert report.n_kept == 0
    assert report.speedup == 1
    assert {k.because for k in report.kernels} == {"the model is not faster"}
    assert not any(e.schedule for e in entries(path))


def test_every_task_has_room() -> None:
    program = compiler.compile(GRAPH, tuned=False)
    tasks = tasks_of(program, program.profile(random_inputs(GRAPH), 2))
    assert all(0 < t.room <= t.seconds for t in tasks)


@pytest.mark.parametrize(
    ("graph", "options", "code"),
    [
        (OPEN, {}, "E-TUNE-MODEL"),
        (GRAPH, {"target": "aarch64"}, "E-TUNE-MODEL"),
        (GRAPH, {"search": "wishful"}, "E-OPTION-VALUE"),
        (GRAPH, {"budget_seconds": 0}, "E-OPTION-VALUE"),
        (GRAPH, {"seed": -1}, "E-OPTION-VALUE"),
        (GRAPH, {"seed": 10**20}, "E-OPTION-VALUE"),
    ],
)
def test_what_cannot_be_tuned_is_told(
    graph: compiler.Graph, options: dict[str, object], code: str, tmp_path: Path
) -> None:
    with pytest.raises(CompileError) as caught:
        tune(graph, database=tmp_path / "d.sqlite", **options)  # type: ignore[arg-type]
    assert caught.value.code == code


def test_there_has_to_be_a_place_for_the_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPILARIUM_CACHE", "")
    with pytest.raises(CompileError) as caught:
        tune(GRAPH, budget_seconds=1)
    assert caught.value.code == "E-TUNE-DATABASE"
