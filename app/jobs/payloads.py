"""Jobs as payloads."""

from __future__ import annotations

from typing import cast

from app.jobs.records import Job
from app.wire import VERSION
from app.wire.shapes import jobs as shapes
from app.wire.shapes.facts import Problem


def job_payload(job: Job) -> shapes.Job:
    """Where a job stands."""
    return {
        "version": VERSION,
        "id": job.id,
        "kind": job.request["kind"],
        "state": job.state,
        "position": job.position,
        "phase": job.phase,
        "n_stages": job.n_stages,
        "last_event": len(job.events),
        "created": job.created_s,
        "seconds": job.seconds,
        "error": cast("Problem | None", job.error),
        "request": cast(shapes.JobRequest, job.request),
        "model_name": job.model_name,
    }


def result_payload(job: Job, summary: shapes.Result) -> shapes.Result:
    """The summary that the child kept, with how the job ended."""
    return {
        **summary,
        "job": job.id,
        "state": job.state,
        "complete": job.state == "succeeded",
        "error": cast("Problem | None", job.error),
    }
