"""The report of a job: one file that opens without a server."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from flask import Response, current_app, request

from app.api.answers import count_request, queue, uploads
from app.api.table import PREFIX, Query, Table
from app.metrics.requests import INNER
from app.report.contents import contents
from app.report.kept import packed_once
from app.report.page import Packed, report_html
from app.samples import find_sample
from app.store.jobs.record import Job
from app.wire.shared_links import shared_place
from compiler.errors import CompileError
from compiler.frontend.written import language_of

ROUTES = Table()


@ROUTES.route(
    "GET",
    "/jobs/<job_id>/report",
    "text/html",
    query=[Query("fragment", "the initial state of the page", str)],
    fails=(400, 404, 409, 413, 429),
)
def report(job_id: str) -> Response:
    """Return everything about a finished job as one HTML file that needs no server."""
    count_request("reports")
    job = queue().find(job_id)
    if not job.is_over:
        raise CompileError("E-RESULT-ABSENT", "the job has not finished yet", notes=[job.state])
    wanted = request.args.get("fragment", "")
    fragment = shared_place({"fragment": wanted}).text if wanted else ""
    client = current_app.test_client()

    def ask(path: str) -> Mapping[str, Any] | None:
        below = path if path.startswith("/") else f"/jobs/{job_id}/{path}"
        answer = client.get(f"{PREFIX}{below}", environ_overrides={INNER: True})
        return answer.get_json() if answer.status_code == 200 else None

    beside = [each.id for each in queue().beside(job_id)]
    held = packed_once(job.folder, beside, lambda: Packed.of(contents(ask)))
    html = report_html(job.model_name, held, fragment, _facts(job))
    response = Response(html, mimetype="text/html")
    response.headers["Cache-Control"] = "no-store"
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", job.model_name).strip("-.") or "model"
    response.headers["Content-Disposition"] = f'attachment; filename="{name}.report.html"'
    return response


def _facts(job: Job) -> dict[str, Any]:
    """Return facts that the result does not contain: job, seed, digest of the model."""
    model = job.request.get("model", {})
    digest = model.get("upload", "")
    if "sample" in model:
        digest = hashlib.sha256(find_sample(model["sample"]).path.read_bytes()).hexdigest()
    elif language_of(job.model_name):  # the id of a text also depends on its language
        with suppress(CompileError, OSError):
            digest = hashlib.sha256(uploads().path(digest).read_bytes()).hexdigest()
    options = job.request.get("options", {})
    return {"job": job.id, "seed": options.get("seed", 0), "digest": digest, "options": options}
