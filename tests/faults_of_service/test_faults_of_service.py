"""Short runs of the harness; `make sweep-service` runs 500 faults with each database."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults_of_service.__main__ import run
from tests.faults_of_service.faults import FAULTS
from tests.faults_of_service.stores import BACKENDS

N_FAULTS = len(FAULTS)
LONGEST_S = 1.5


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_fault_loses_a_job_or_leaves_a_process(tmp_path: Path, backend: str) -> None:
    said: list[str] = []
    report = run(tmp_path, backend, N_FAULTS, 3, said.append, LONGEST_S)
    log = (tmp_path / "log.txt").read_text()
    assert not report.wrong, "\n".join([*report.wrong, *said, log[-4000:]])
    assert report.n_jobs > 0
    assert report.states["succeeded"] > 0
