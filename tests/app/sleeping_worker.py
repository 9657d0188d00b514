"""A child process for jobs that report two stages, and then sleep."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.jobs.fork_server_process import serve
from app.jobs.worker import Say
from tests.app import odd_worker


def work(request: Mapping[str, Any], folder: Path, task: Mapping[str, Any], say: Say) -> None:
    odd_worker.work({**request, "pipeline": "sleep"}, folder, task, say)


if __name__ == "__main__":
    serve({"compile": work})
