"""Jobs in memory and on disk: `job.json` and `events.jsonl`; result_store.py writes the results.

A job's folder outlives the server; a job that was running when its server died counts as failed.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from app.disk import begin_sync, finish_sync
from app.wire.shapes.jobs import JobState as State
from compiler.errors import CompileError

OVER: frozenset[str] = frozenset({"succeeded", "failed", "cancelled"})
_IN_MEMORY = ("folder", "events", "n_written")
"""Fields of a job that `job.json` omits."""
_STOP = "stop"
"""File in a job's folder: a user has asked the job to end early, with its results so far."""
_ID = re.compile(r"[0-9]{8}-[0-9a-f]{20}")


def new_id() -> str:
    """Return an unguessable id that sorts by day."""
    return f"{time.strftime('%Y%m%d', time.gmtime())}-{secrets.token_hex(10)}"


def is_id(text: str) -> bool:
    """Return whether a text has the form of a job's id, and so is safe as a folder's name."""
    return bool(_ID.fullmatch(text))


def ids_in(text: str) -> set[str]:
    """Return the ids of jobs that a text contains, such as a request."""
    return set(_ID.findall(text))


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a job. `number` counts from 1; a subscriber resumes after the last received
    number."""

    number: int
    name: str
    data: Mapping[str, Any]


@dataclass(slots=True)
class Job:
    """A job with its request, state and events. Times are in Unix seconds.

    The lock of the queue guards all changes of a job.
    """

    id: str
    folder: Path
    request: Mapping[str, Any]
    model_name: str
    state: State = "queued"
    phase: str = ""
    position: int = 0
    wait_s: float | None = None
    """Estimated waiting time at the last change of `position`; None if unknown."""
    n_stages: int = 0
    error: Mapping[str, Any] | None = None
    created_s: float = field(default_factory=time.time)
    started_s: float = 0.0
    ended_s: float = 0.0
    server_pid: int = field(default_factory=os.getpid)
    form: str = ""
    """Format of the stored result, as `app.wire.form` returned it; "" in older jobs."""
    events: list[Event] = field(default_factory=list)
    n_written: int = 0
    """Number of the events that are in the file."""

    @property
    def is_over(self) -> bool:
        """Whether the job has ended."""
        return self.state in OVER

    @property
    def is_end_unwritten(self) -> bool:
        """Whether the job has ended, but its end could not be written."""
        return self.is_over and self.n_written < len(self.events)

    @property
    def seconds(self) -> float:
        """The running time of the job in seconds: so far, or in total after its end."""
        if not self.started_s:
            return 0.0
        return max(0.0, (self.ended_s or time.time()) - self.started_s)

    def add(self, name: str, data: Mapping[str, Any]) -> None:
        """Record an event, in memory and on disk.

        If writing fails, the next event is written with this one. Errors: OSError.
        """
        self._append(name, data)
        self._write()

    def _append(self, name: str, data: Mapping[str, Any]) -> None:
        self.events.append(Event(len(self.events) + 1, name, dict(data)))

    def _write(self) -> None:
        # A line starts with its newline, since an earlier write may have ended within a line.
        new = self.events[self.n_written :]
        lines = ["\n" + json.dumps([each.number, each.name, each.data]) for each in new]
        with (self.folder / "events.jsonl").open("a", encoding="utf-8") as file:
            file.writelines(lines)
        self.n_written = len(self.events)

    def end(self, state: State, error: CompileError | None = None) -> None:
        """End the job: set the state, add the terminal event, and save.

        If writing fails, the state and the event are set in memory only. Errors: OSError.
        """
        self.state = state
        self.ended_s = time.time()
        self.position, self.wait_s = 0, None
        self.error = error.to_json() if error else None
        data: dict[str, Any] = {"n_stages": self.n_stages, "seconds": self.seconds}
        if error:
            data["error"] = self.error
        self._append("finished" if state == "succeeded" else state, data)
        self.write_end()

    def write_end(self) -> None:
        """Write the final state and the remaining events. Errors: OSError."""
        self.save()
        self._write()

    def ask_to_stop(self) -> None:
        """Ask the job to end early, with its results so far."""
        (self.folder / _STOP).touch()

    def is_asked_to_stop(self) -> bool:
        """Return whether a user has asked the job to end early."""
        return (self.folder / _STOP).exists()

    def sync(self) -> None:
        """Wait until the state of the job is on the disk. Errors: OSError."""
        finish_sync([begin_sync(path) for path in (self.folder / "job.json", self.folder)])

    def save(self) -> None:
        """Write the job to disk, except its events."""
        facts = {k: v for k, v in _fields(self).items() if k not in _IN_MEMORY}
        partial = self.folder / "job.json.partial"
        partial.write_text(json.dumps(facts), encoding="utf-8")
        os.replace(partial, self.folder / "job.json")


def _fields(job: Job) -> dict[str, Any]:
    return asdict(job)


def load(folder: Path) -> Job | None:
    """Load a job from a folder; None if it is missing or unreadable.

    A job whose server died has failed with E-LIMIT-CRASH.
    """
    try:
        facts = json.loads((folder / "job.json").read_text(encoding="utf-8"))
        job = Job(folder=folder, **facts)
        job.events = _load_events(folder / "events.jsonl")
        job.n_written = len(job.events)
    except (OSError, ValueError, TypeError):
        return None
    if not job.is_over and not _is_alive(job.server_pid):
        with suppress(OSError):  # a full disk must not hide the job
            job.end("failed", CompileError("E-LIMIT-CRASH", "the server stopped during the job"))
    return job


def load_facts(folder: Path) -> Mapping[str, Any]:
    """Read the facts about the job in a folder; empty if the file is unreadable."""
    try:
        facts = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}


def request_in(folder: Path) -> Mapping[str, Any]:
    """Read the request of the job in a folder; empty if the file is unreadable."""
    request = load_facts(folder).get("request")
    return request if isinstance(request, dict) else {}


def is_unfinished(folder: Path) -> bool:
    """Return whether the job in a folder waits or runs on a server that is alive."""
    facts = load_facts(folder)
    pid = facts.get("server_pid")
    return facts.get("state", "failed") not in OVER and type(pid) is int and _is_alive(pid)


def _load_events(path: Path) -> list[Event]:
    events: list[Event] = []
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    for line in lines:
        try:
            event = Event(*json.loads(line))
        except (ValueError, TypeError):
            continue  # the disk was full within this line, or the server died
        if event.number == len(events) + 1:  # else the event was written twice
            events.append(event)
    return events


def _is_alive(pid: int) -> bool:
    """Return whether this id belongs to another running server, which may own the job."""
    if pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
