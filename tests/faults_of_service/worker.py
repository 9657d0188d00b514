"""Children whose jobs take a moment: they report events, and parts that name their job."""

from __future__ import annotations

import time

from app.jobs.fork_server_process import serve
from app.jobs.results import Results
from app.jobs.task import Task
from app.jobs.worker import Work

N_PARTS = 4


def work(task: Task, results: Results) -> None:
    """Store parts with the seed of the job, which differs from job to job."""
    seed = int(task.request["options"]["seed"])
    results.say("phase", {"phase": "read", "words": "reading"})
    for number in range(N_PARTS):
        results.write(f"part-{number}", {"seed": seed, "number": number})
        results.say("ready", {"part": f"part-{number}"})
        time.sleep(0.02 * (seed % 4))


KINDS: dict[str, Work] = {"compile": work, "inspect": work}

if __name__ == "__main__":
    serve(KINDS)
