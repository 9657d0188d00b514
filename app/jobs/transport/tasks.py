"""The tasks that Dask starts on a worker. They return texts, never objects of the program.

The scheduler imports this module too, so it imports the rest of the program only inside functions.
"""

from __future__ import annotations

OWNER, PROBLEM = "owner", "problem"
"""Keys of the result of `enlist`: the name of the worker's supervisor, or the reason for its
absence."""
RAN, REFUSED = "ran", "refused"
"""Results of `run_job`, besides the names of types of errors."""


def run_job(job_id: str, attempt: int) -> str:
    """Claim this attempt of a job and run it to its end, or refuse a job that cannot be claimed."""
    from app.jobs.transport import host

    return host.run(job_id, attempt)


def enlist(form: str) -> dict[str, str]:
    """Start the supervisor of this worker, if its results have this form."""
    from app.jobs.transport import host

    return host.enlist(form)
