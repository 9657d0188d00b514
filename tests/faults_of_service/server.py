"""The service: `python -m tests.faults_of_service.server DATA_FOLDER`, with the worker of this
folder and short leases."""

from __future__ import annotations

import logging
import sys
from dataclasses import replace
from pathlib import Path

from app import create_app
from app.config import Settings
from app.jobs.supervisor_process import kept_supervisor
from app.serve import answer_requests, listen

LEASE_S = 3.0


def main(folder: Path) -> None:
    """Serve until a signal."""
    settings = Settings(
        data_folder=folder,
        worker_module="tests.faults_of_service.worker",
        lease_s=LEASE_S,
        queued_per_client=1000,
        queue_limit=1000,
        running_per_client=100,
        n_jobs_kept=100_000,
    )
    app = create_app(replace(settings, supervisor="outside"))
    server = listen(app, "127.0.0.1", 0)
    app.extensions["jobs"].warm_up()
    with kept_supervisor(settings):
        answer_requests(app, server, lambda: print(server.port, flush=True))


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    main(Path(sys.argv[1]))
