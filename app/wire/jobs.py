"""Jobs as payloads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.jobs.records import Job
from app.wire import VERSION


def job_payload(job: Job) -> dict[str, Any]:
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
        "error": job.error,
        "request": job.request,
        "model_name": job.model_name,
    }


def result_payload(job: Job, summary: Mapping[str, Any]) -> dict[str, Any]:
    """The summary that the child kept, with how the job ended."""
    return {
        **summary,
        "job": job.id,
        "state": job.state,
        "complete": job.state == "succeeded",
        "error": job.error,
    }
