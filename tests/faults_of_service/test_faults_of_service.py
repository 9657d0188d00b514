"""A short run of the harness; `make sweep-service` runs 500 faults."""

from __future__ import annotations

from pathlib import Path

from tests.faults_of_service.__main__ import run

N_KILLS = 20


def test_kills_of_every_process_lose_no_job_and_leave_no_process(tmp_path: Path) -> None:
    said: list[str] = []
    report = run(tmp_path, N_KILLS, seed=3, say=said.append)
    log = (tmp_path / "log.txt").read_text()
    assert not report.wrong, "\n".join([*report.wrong, *said, log[-4000:]])
    assert report.n_jobs > 0
    assert report.states["succeeded"] > 0
