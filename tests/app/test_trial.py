"""Tests of the trial compilations whose memory all children of a fork server inherit."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app import create_app
from app.jobs import trial
from app.jobs.fork_server import RUNS_JOBS, ForkServer
from app.jobs.parts import PARTS
from tests.app.conftest import MakeApp, compiled_job, jobs_of

_THREADS = """
import os
from app.jobs.fork_server_process import serve
from app.jobs.kinds import warm_up
from app.jobs.trial import compile_samples
warm_up()
before = len(os.listdir("/proc/self/task"))
compile_samples()
print(before, len(os.listdir("/proc/self/task")))
"""


def test_a_trial_leaves_no_threads_which_forks_would_lack() -> None:
    done = subprocess.run([sys.executable, "-c", _THREADS], capture_output=True, text=True)
    before, after = done.stdout.split()
    assert after == before, done.stderr
    assert not done.stderr


def test_a_failed_trial_is_logged_and_does_not_end_the_fork_server(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no such instruction")

    monkeypatch.setattr(trial, "compile_model", fail)
    trial.compile_samples()
    assert capsys.readouterr().err.count("RuntimeError: no such") == len(trial.MODELS)


def test_only_fork_servers_for_jobs_make_trials(tmp_path: Path) -> None:
    def arguments(supervisor: str) -> tuple[str, ...]:
        app = create_app({"data_folder": tmp_path / supervisor, "supervisor": supervisor})
        try:
            return app.extensions["jobs"].runner.fork_server.arguments
        finally:
            app.extensions["jobs"].stop()
            app.extensions["database"].close()

    assert arguments("inside") == (RUNS_JOBS,)
    assert arguments("outside") == ()


def test_a_trial_changes_no_result(make_app: MakeApp, tmp_path: Path) -> None:
    """The caches of a process affect the time of a compilation only."""
    found: list[dict[str, Any]] = []
    for runs_jobs in (False, True):
        name = str(runs_jobs)
        app = make_app(data_folder=tmp_path / name, worker_module="app.jobs.fork_server_process")
        jobs = jobs_of(app.test_client())
        jobs.runner.fork_server = ForkServer(
            jobs.settings.worker_module, tmp_path / name, runs_jobs=runs_jobs
        )
        job = jobs.peek(compiled_job(app.test_client(), model={"sample": "digits_lstm"}))
        parts = sorted((job.folder / PARTS).iterdir())
        found.append({each.name: json.loads(gzip.decompress(each.read_bytes())) for each in parts})
    without, with_trial = found
    assert without.keys() == with_trial.keys()
    assert len(without) > 50
    for name, part in without.items():
        assert _untimed(with_trial[name]) == _untimed(part), name


def _untimed(value: Any) -> Any:
    """Return a payload without its times."""
    if isinstance(value, dict):
        return {k: _untimed(v) for k, v in value.items() if "seconds" not in k}
    return [_untimed(v) for v in value] if isinstance(value, list) else value
