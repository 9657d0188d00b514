"""A server without a page, whose only job runs until it is cancelled or its child is killed.

It writes "running" when the job runs, and the job's error code when the job has ended. A line on
the standard input cancels the job.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from pathlib import Path

from app import create_app
from app.jobs.queue import JobQueue
from app.jobs.records import Job

PATIENCE_S = 150.0


def main() -> None:
    """Run the job to its end, and stay until the standard input is closed."""
    with tempfile.TemporaryDirectory() as folder:
        worker = "tests.app.odd_worker"
        app = create_app({"data_folder": Path(folder), "worker_module": worker, "n_workers": 1})
        jobs: JobQueue = app.extensions["jobs"]
        request = {"kind": "compile", "model": {"sample": "digits_cnn"}, "pipeline": "sleep"}
        job = jobs.submit({**request, "shapes": {}, "options": {}}, "a model")
        threading.Thread(target=cancel_on_request, args=(jobs, job), daemon=True).start()
        n = 0
        while not job.is_over:
            n += len(jobs.events_after(job, n, PATIENCE_S)[0])
            if job.n_stages == 3:
                print("running", flush=True)
                job.n_stages = 4
        print(job.error["code"] if job.error else job.state, flush=True)
        jobs.stop()
        print("stopped", flush=True)
        sys.stdin.read()


def cancel_on_request(jobs: JobQueue, job: Job) -> None:
    if sys.stdin.readline():
        jobs.cancel(job.id)


if __name__ == "__main__":
    main()
