"""A job and its events as values, as they were in the table at some moment."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

State = Literal[
    "queued",
    "leased",
    "running",
    "succeeded",
    "failed",
    "rejected",
    "timed_out",
    "oom",
    "cancelled",
    "crashed",
]
"""The states in the table. A leased job belongs to a supervisor, which prepares its start."""
Shown = Literal["queued", "running", "succeeded", "failed", "cancelled"]
"""The states that clients see."""

HELD: tuple[State, ...] = ("leased", "running")
"""The states with an owner."""
UNFINISHED: tuple[State, ...] = ("queued", *HELD)

_SHOWN: Mapping[State, Shown] = {
    "queued": "queued",
    "leased": "running",
    "running": "running",
    "succeeded": "succeeded",
    "failed": "failed",
    "rejected": "failed",
    "timed_out": "failed",
    "oom": "failed",
    "cancelled": "cancelled",
    "crashed": "failed",
}
_OF_CODE: Mapping[str, State] = {
    "E-LIMIT-SECONDS": "timed_out",
    "E-LIMIT-MEMORY": "oom",
    "E-LIMIT-CRASH": "crashed",
    "E-SERVER-BUG": "failed",
    "E-UPLOAD-DISK": "failed",
    "E-SANDBOX-ABSENT": "failed",
    "E-MACHINE-ABSENT": "failed",
}
PHASE_CHARACTERS = 60
"""The longest stored name of a phase, which the child chooses."""
_ID = re.compile(r"[0-9]{8}-[0-9a-f]{20}")


def shown(state: State) -> Shown:
    """Return the state that clients see."""
    return _SHOWN[state]


def failed_state(code: str) -> State:
    """Return the state of a job that ended with this error: "rejected" if its input is the
    cause."""
    return _OF_CODE.get(code, "rejected")


def new_id() -> str:
    """Return an unguessable id that sorts by day."""
    return f"{time.strftime('%Y%m%d', time.gmtime())}-{secrets.token_hex(10)}"


def is_id(text: str) -> bool:
    """Return whether a text has the form of a job's id, and so is safe as a folder's name."""
    return bool(_ID.fullmatch(text))


def ids_in(text: str) -> set[str]:
    """Return the ids of jobs that a text contains, such as a request."""
    return set(_ID.findall(text))


def digest_of(request: Mapping[str, Any]) -> str:
    """Return the digest of a request; the order of its fields is irrelevant."""
    return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a job. `number` counts from 1; a subscriber resumes after the last received
    number."""

    number: int
    name: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Job:
    """A job with its request and state. Times are in Unix seconds.

    `folder` has the results of the latest attempt. `seconds` is the running time: so far, or in
    total after the end of the job.
    """

    id: str
    folder: Path
    request: Mapping[str, Any]
    model_name: str
    status: State = "queued"
    phase: str = ""
    position: int = 0
    wait_s: float | None = None
    """Estimated waiting time at the last change of `position`; None if unknown."""
    n_stages: int = 0
    n_events: int = 0
    error: Mapping[str, Any] | None = None
    created_s: float = 0.0
    seconds: float = 0.0
    form: str = ""
    """Format of the stored result, as `app.wire.form` returned it; "" in older jobs."""
    private: Mapping[str, Any] | None = None
    attempt: int = 0
    max_attempts: int = 1
    crashes: int = 0
    """The number of attempts that a signal ended."""
    machine: str = ""
    """The machine that runs or ran the latest attempt."""
    processor: str = ""
    """The kind of this machine."""

    @property
    def key(self) -> str:
        """The prefix of the results of the latest attempt in a blob store."""
        return attempt_key(self.id, self.attempt)

    @property
    def state(self) -> Shown:
        """The state that clients see."""
        return _SHOWN[self.status]

    @property
    def is_over(self) -> bool:
        """Whether the job has ended."""
        return self.status not in UNFINISHED


JOBS = "jobs"
"""The prefix of all results in a blob store, and the name of their folder."""


def attempt_key(job_id: str, attempt: int) -> str:
    """Return the prefix of the results of an attempt: no two attempts share blobs."""
    return f"{JOBS}/{job_id}/{attempt}" if attempt else f"{JOBS}/{job_id}"


def attempt_folder(jobs: Path, job_id: str, attempt: int) -> Path:
    """Return the folder with the results of an attempt.

    Results of earlier versions, which had no attempts, are in the folder of the job.
    """
    return jobs / job_id / str(attempt) if attempt else jobs / job_id
