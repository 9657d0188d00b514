import subprocess
import threading
from pathlib import Path

import pytest

from compiler.conformance import pool
from compiler.conformance.cases import collect
from compiler.conformance.pool import run_cases
from tests.conformance_runners import DIES, HANGING, HANGS, RUNNER

CASES = [c for c in collect("simple") if c.name.startswith("test_sequence_model")]


@pytest.fixture(autouse=True)
def hanging(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The file that a child creates before it hangs."""
    path = tmp_path / "hanging"
    monkeypatch.setenv(HANGING, str(path))
    return path


def test_a_child_that_dies_or_hangs_loses_one_case_and_is_replaced(
    monkeypatch: pytest.MonkeyPatch, hanging: Path
) -> None:
    class WhenItHangs(threading.Timer):
        """A time limit that is over once the case hangs, independent of the machine's speed."""

        def run(self) -> None:
            while not self.finished.wait(0.01):
                if hanging.exists():
                    hanging.unlink()
                    self.function()
                    return

    monkeypatch.setattr(pool.threading, "Timer", WhenItHangs)
    found = {o.name: o for o in run_cases(CASES, 1, seconds_per_case=4, runner=RUNNER)}
    assert set(found) == {c.name for c in CASES}
    lost = {name: o for name, o in found.items() if o.kind == "crashed"}
    assert set(lost) == {DIES, HANGS}
    assert lost[DIES].why == "the process ended with exit code 7"
    assert lost[HANGS].why == "took longer than 4 s"
    assert lost[DIES].operators == ("SequenceAt", "SequenceConstruct", "SequenceErase")
    # Three children: before, between and after the two lost children.
    processes = [found[c.name].why for c in CASES if c.name not in lost]
    assert len(set(processes)) == 3
    assert processes == sorted(processes, key=processes.index)


def test_children_work_side_by_side_and_judge_real_cases() -> None:
    cases = [c for c in collect("pytorch-operator") if "add" in c.name]
    found = list(run_cases(cases, 2))
    assert sorted(o.name for o in found) == [c.name for c in cases]
    assert {o.kind for o in found} == {"native"}


def test_whoever_stops_asking_leaves_no_child_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    start = pool._start
    monkeypatch.setattr(pool, "_start", lambda runner: started.append(start(runner)) or started[-1])
    outcomes = run_cases(CASES, 2, runner=RUNNER)
    assert next(outcomes).kind in ("native", "crashed")
    outcomes.close()
    assert started
    assert all(process.poll() is not None for process in started)


def test_no_cases_need_no_children() -> None:
    assert list(run_cases([], 2)) == []


def test_children_that_cannot_start_are_no_crash_of_a_case() -> None:
    with pytest.raises(RuntimeError, match="could not be started"):
        list(run_cases(CASES, 2, runner="tests.no_such_module:run"))
