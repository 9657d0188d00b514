"""Payloads of jobs: states and summaries."""

from __future__ import annotations

from typing import cast

from app.store.jobs.record import Job
from app.wire import VERSION
from app.wire.shapes import jobs as shapes
from app.wire.shapes.facts import Problem


def job_payload(job: Job) -> shapes.Job:
    """Return the state of a job."""
    return {
        "version": VERSION,
        "id": job.id,
        "kind": job.request["kind"],
        "state": job.state,
        "position": job.position,
        "wait_s": job.wait_s,
        "phase": job.phase,
        "n_stages": job.n_stages,
        "last_event": job.n_events,
        "created": job.created_s,
        "seconds": job.seconds,
        "error": cast("Problem | None", job.error),
        "request": cast(shapes.JobRequest, job.request),
        "model_name": job.model_name,
        "machine": job.machine,
    }


def result_payload(job: Job, summary: shapes.Result) -> shapes.Result:
    """Return the summary that the child stored, with the final state of the job."""
    return {
        **summary,
        "job": job.id,
        "state": job.state,
        "complete": job.state == "succeeded",
        "error": cast("Problem | None", job.error),
    }
