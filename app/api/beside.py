"""Related jobs of a compilation, such as checks, placements and tuning of its result."""

from __future__ import annotations

from flask import Response

from app.api.answers import answer, queue
from app.api.table import Table
from app.jobs.payloads import job_payload
from app.jobs.stored_results import parts_of
from app.report.findings import report_command
from app.wire import VERSION
from app.wire.shapes.jobs import Beside, Result

ROUTES = Table()


@ROUTES.route("GET", "/jobs/<job_id>/beside", Beside, fails=(404,))
def jobs_beside(job_id: str) -> Response:
    """Return the stored jobs that have examined this job's result, newest first."""
    job = queue().find(job_id)
    found = queue().beside(job.id)
    parts = parts_of(queue().blobs, job)
    compiles = parts.payload("result", Result).get("reproduce", "") if parts.has("result") else ""
    asked = [each.request for each in reversed(found)]
    payload: Beside = {
        "version": VERSION,
        "jobs": [job_payload(each) for each in found],
        "report": report_command(compiles, asked) if compiles else "",
    }
    return answer(payload)
