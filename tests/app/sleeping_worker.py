"""A child process for jobs that report two stages, and then sleep."""

from __future__ import annotations

from dataclasses import replace

from app.jobs.fork_server_process import serve
from app.jobs.results import Results
from app.jobs.task import Task
from tests.app import odd_worker


def work(task: Task, results: Results) -> None:
    """Report two stages, and then sleep."""
    odd_worker.work(replace(task, request={**task.request, "pipeline": "sleep"}), results)


if __name__ == "__main__":
    serve({"compile": work})
