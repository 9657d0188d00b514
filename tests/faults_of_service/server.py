"""The service: `python -m tests.faults_of_service.server DATA_FOLDER DATABASE_URL`.

It has the worker of this folder, and short leases.
"""

from __future__ import annotations

import sys
from pathlib import Path

from app.config import Settings
from app.serve import serve

LEASE_S = 3.0


def main(folder: Path, database_url: str) -> None:
    """Serve until a signal."""
    settings = Settings(
        port=0,
        data_folder=folder,
        database_url=database_url,
        worker_module="tests.faults_of_service.worker",
        lease_s=LEASE_S,
        jobs_per_minute=0,
        queued_per_client=1000,
        queue_limit=1000,
        running_per_client=100,
        n_jobs_kept=100_000,
    )
    serve(settings, say=lambda words: print(words, flush=True))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
