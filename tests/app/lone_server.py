"""A server without a page, whose only job runs until its child is killed, and is not repeated.

It writes "running" when the job runs, and the job's error code when the job has ended.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from app import create_app
from app.jobs.kinds import KINDS
from app.jobs.queue import JobQueue

PATIENCE_S = 150.0


def main() -> None:
    """Run the job to its end, and stay until the standard input is closed."""
    with tempfile.TemporaryDirectory() as folder:
        worker = "tests.app.odd_worker"
        app = create_app({"data_folder": Path(folder), "worker_module": worker, "n_workers": 1})
        jobs: JobQueue = app.extensions["jobs"]
        KINDS["compile"] = replace(KINDS["compile"], max_attempts=1)
        request = {"kind": "compile", "model": {"sample": "digits_cnn"}, "pipeline": "sleep"}
        job = jobs.submit({**request, "shapes": {}, "options": {}}, "a model")
        watch = jobs.database.watch
        assert watch.wait_for(lambda: jobs.peek(job.id).n_stages == 3, PATIENCE_S)
        print("running", flush=True)
        assert watch.wait_for(lambda: jobs.peek(job.id).is_over, PATIENCE_S)
        job = jobs.peek(job.id)
        print(job.error["code"] if job.error else job.state, flush=True)
        jobs.stop()
        print("stopped", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
