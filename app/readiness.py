"""The readiness of the server for requests and jobs: named checks, for /readyz.

A further check is a function here, and a row of CHECKS.
"""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypedDict

from flask import Flask

from app.config import Settings
from app.jobs.census import trouble
from app.store.probe import write_probe
from app.wire import VERSION
from app.wire.shapes import Payload
from compiler.units import bytes_text

log = logging.getLogger("compilarium.web")

Check = Callable[[Flask], str]
"""Returns the problem, without users' data, or "" if there is none."""


class ReadinessCheck(TypedDict):
    """A check of the server; `problem` is "" if there is none."""

    name: str
    problem: str
    seconds: float


class Readiness(Payload):
    """Whether the server can do its work."""

    ready: bool
    checks: list[ReadinessCheck]


_KEPT_S = 2.0
"""Time for which findings are cached, because anybody may request them."""


def _database(app: Flask) -> str:
    write_probe(app.extensions["database"])
    return ""


def _queue(app: Flask) -> str:
    return trouble(app.extensions["jobs"])


def _disk(app: Flask) -> str:
    """Require the space of one upload and of one result."""
    settings: Settings = app.config["SETTINGS"]
    folder = settings.stored_folder.resolve()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    needed = settings.upload_limit_bytes + settings.output_limit_bytes
    if free >= needed:
        return ""
    return f"{bytes_text(free)} are free, and an upload and a result need {bytes_text(needed)}"


def _store(app: Flask) -> str:
    """Require an answer of the blob store; a folder is checked with its disk."""
    app.extensions["jobs"].blobs.exists("uploads/readiness")
    return ""


def _sandbox(app: Flask) -> str:
    """Require a sandbox, or the explicit setting that replaces it."""
    verdict = app.extensions["jobs"].runner.isolation.await_self_test()
    return verdict.obstacle if verdict.state == "absent" else ""


CHECKS: Mapping[str, Check] = {
    "database": _database,
    "queue": _queue,
    "disk": _disk,
    "store": _store,
    "sandbox": _sandbox,
}


@dataclass(slots=True)
class ReadinessChecks:
    """The checks of an application, and their last findings."""

    app: Flask
    checks: Mapping[str, Check] = field(default_factory=lambda: CHECKS)
    _last: Readiness | None = None
    _until_s: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def payload(self) -> Readiness:
        """Run the checks, unless their findings are recent."""
        with self._lock:
            if self._last is None or time.monotonic() >= self._until_s:
                found = [_run(name, check, self.app) for name, check in self.checks.items()]
                ready = all(not each["problem"] for each in found)
                self._last = {"version": VERSION, "ready": ready, "checks": found}
                self._until_s = time.monotonic() + _KEPT_S
            return self._last


def _run(name: str, check: Check, app: Flask) -> ReadinessCheck:
    start = time.perf_counter()
    try:
        problem = check(app)
    except Exception as e:  # of a database or a disk: each is a finding
        log.warning("the check %s failed", name, exc_info=e)
        problem = type(e).__name__
    return {"name": name, "problem": problem, "seconds": time.perf_counter() - start}
