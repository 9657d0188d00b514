"""Jobs in the process of a test: their results are stored as the server stores those of a child."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flask.testing import FlaskClient

from app.jobs.frames import WITH_BODY
from app.jobs.kinds import KINDS
from app.jobs.limits import Limits
from app.jobs.parts import packed, part_file
from app.jobs.result_store import ResultStore
from app.jobs.results import Results
from app.jobs.task import Task
from app.store.jobs.record import Job

LIMITS = Limits(seconds=600.0, memory_bytes=8 * 10**9, output_bytes=10**8)


def task_of(client: FlaskClient, limits: Limits = LIMITS, **request: Any) -> Task:
    """Return the task of a job with this request, as the server of the client makes it."""
    maker = client.application.extensions["jobs"].runner.maker
    return maker.task(Job("an id", Path(), request, "a model"), {"file": "f"}, limits)


def run_directly(task: Task, folder: Path) -> None:
    """Run a job, and store its results in a folder."""
    kind = KINDS[task.request["kind"]]
    store = ResultStore(folder, task.limits.output_bytes, kind.files)

    def send(event: str, data: Mapping[str, Any], body: bytes) -> None:
        if event in WITH_BODY:
            receiver = store.receive(event, data)
            receiver.write(memoryview(body))
            receiver.finish()

    kind.work(task, Results(send, task.limits.output_bytes))


def replace_part(folder: Path, name: str, payload: Mapping[str, Any]) -> None:
    """Store another payload as a part of a job."""
    part_file(folder, name).write_bytes(packed(name, payload))
