"""`compilarium report`: creates a report of a model from the page's jobs and responses."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from flask import Flask
from flask.testing import FlaskClient

from app import create_app
from app.api import ROUTES
from app.api.table import PREFIX
from app.report.findings import Finding
from app.samples import samples
from app.usage import UNLIMITED
from compiler.errors import CompileError, Where

_PATIENCE_S = 24 * 3600.0
_ROOM_BYTES = 1 << 40


def make_report(
    model: Path,
    *,
    pipeline: str,
    shapes: Mapping[str, Sequence[int]],
    options: Mapping[str, Any],
    say: Callable[[str], None],
    without: Sequence[str] = (),
    find: Sequence[str] = (),
    view: str = "",
) -> str:
    """Compile a model and return its report.

    `find` lists the additional jobs (`Finding.of`); `view` is the fragment of the initial view.
    If the file `model` does not exist, `model` names a sample.
    Errors: the errors of compiling the model and of each additional job; E-OPTION-VALUE.
    """
    findings = [Finding.of(each) for each in find]
    with tempfile.TemporaryDirectory() as folder:
        app = create_app(
            {
                "data_folder": Path(folder),
                "upload_limit_bytes": _ROOM_BYTES,
                "upload_limit_s": _PATIENCE_S,
                "job_limit_s": _PATIENCE_S,
                "stream_limit_s": _PATIENCE_S,
                "memory_limit_bytes": _ROOM_BYTES,
                "output_limit_bytes": 1 << 34,
                **UNLIMITED,
            }
        )
        try:
            request = {
                "kind": "compile",
                "model": _sent(app, model),
                "pipeline": pipeline,
                "shapes": {name: list(dims) for name, dims in shapes.items()},
                "options": dict(options),
                "without": list(without),
            }
            return _report(app.test_client(), request, findings, view, say)
        finally:
            app.extensions["jobs"].stop()
            app.extensions["database"].close()


def _sent(app: Flask, model: Path) -> dict[str, str]:
    """Return the model's reference in a request: a sample or an upload. Errors: E-MODEL-FILE."""
    if not model.exists() and str(model) in samples():
        return {"sample": str(model)}
    try:
        with model.open("rb") as file:
            return {"upload": app.extensions["uploads"].save(file, model.name).id}
    except OSError as e:
        raise CompileError("E-MODEL-FILE", f"{model}: {e.strerror or e}") from None


def _report(
    client: FlaskClient,
    request: Mapping[str, Any],
    findings: Sequence[Finding],
    view: str,
    say: Callable[[str], None],
) -> str:
    job = _done(client, "/api/v1/jobs", request, say)
    for each in findings:
        path = next(route.path for route in ROUTES if route.body is each.asked)
        _done(client, PREFIX + path.replace("<job_id>", job), each.body, say)
    say("writing the report")
    answer = client.get(f"/api/v1/jobs/{job}/report", query_string={"fragment": view})
    if answer.status_code != 200:
        raise _error(answer.get_json()["error"])
    return answer.get_data(as_text=True)


def _done(
    client: FlaskClient, path: str, body: Mapping[str, Any], say: Callable[[str], None]
) -> str:
    """Run a job and return its id. Errors: the errors of the job."""
    job = _said(client.post(path, json=dict(body)))["id"]
    for line in client.get(f"/api/v1/jobs/{job}/events", buffered=False).response:
        for words in _words(line.decode() if isinstance(line, bytes) else line):
            say(words)
    state = _said(client.get(f"/api/v1/jobs/{job}"))
    if state["state"] != "succeeded":
        raise _error(state["error"] or {"code": "E-SERVER-BUG", "message": "the job ended early"})
    return job


def _words(event: str) -> list[str]:
    data = [line[6:] for line in event.splitlines() if line.startswith("data: ")]
    return [found for each in data if (found := json.loads(each).get("words"))]


def _said(answer: Any) -> dict[str, Any]:
    payload: dict[str, Any] = answer.get_json()
    if answer.status_code >= 400:
        raise _error(payload["error"])
    return payload


def _error(told: Mapping[str, Any]) -> CompileError:
    where = Where(**told["where"]) if told.get("where") else None
    return CompileError(
        told["code"],
        told["message"],
        where=where,
        notes=told.get("notes", ()),
        hint=told.get("hint", ""),
    )
