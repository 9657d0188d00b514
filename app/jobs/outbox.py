"""Stores the results of a running job in a network blob store, from a thread of its own.

A client may fetch a part as soon as it receives the event that announces the part. So events pass
through here, and each is reported after all earlier results are in the store. Results that change
faster than the store takes them are stored in their latest form.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any

from app.store.blobs.interface import Blobs

log = logging.getLogger("compilarium.jobs")

PATIENCE_S = 60.0
"""Time in seconds for which writes to a failing store are retried before the job fails."""
_AGAIN_S = 1.0

Report = Callable[[str, Mapping[str, Any]], None]


class Outbox:
    """Stores the results of an attempt below its key, and reports its events.

    `folder` has the results on this machine. Nothing more is stored once `cancelled` is set.
    """

    def __init__(
        self, blobs: Blobs, key: str, folder: Path, report: Report, cancelled: threading.Event
    ) -> None:
        self.blobs, self.key, self.folder = blobs, key, folder
        self.report, self.cancelled = report, cancelled
        self._changed = threading.Condition()
        self._files: dict[str, Path] = {}
        self._events: list[tuple[str, Mapping[str, Any]]] = []
        self._is_busy = self._is_closed = False
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="outbox", daemon=True)

    def __enter__(self) -> Outbox:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """Store everything so far, also the results of a job that has failed."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self._thread.join()
        if error is None:
            self.wait()

    def stored(self, path: Path) -> None:
        """Schedule a complete file to be stored, with its content at the time of storing.

        Errors: OSError if the store has failed for long.
        """
        with self._changed:
            if self._error is not None:
                raise self._error
            self._files[f"{self.key}/{path.relative_to(self.folder).as_posix()}"] = path
            self._changed.notify_all()

    def tell(self, name: str, data: Mapping[str, Any]) -> None:
        """Report an event after all results so far are stored."""
        with self._changed:
            self._events.append((name, data))
            self._changed.notify_all()

    def wait(self, timeout_s: float | None = None) -> None:
        """Wait until everything is stored and reported, or the job is cancelled.

        Errors: OSError if the store has failed for long.
        """
        with self._changed:
            self._changed.wait_for(self._is_idle, timeout_s)
            if self._error is not None and not self.cancelled.is_set():
                raise self._error

    def _is_idle(self) -> bool:
        has_work = self._is_busy or bool(self._files) or bool(self._events)
        return not has_work or self._error is not None or not self._thread.is_alive()

    def _run(self) -> None:
        while self._take():
            pass
        with self._changed:
            self._changed.notify_all()

    def _take(self) -> bool:
        """Store and report all pending files and events; return False at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._files or self._events or self._is_closed)
            files, self._files = self._files, {}
            events, self._events = self._events, []
            if not files and not events:
                return False
            self._is_busy = True
        try:
            if files:
                self._store(files)
            for name, data in events:
                self.report(name, data)
        except Exception as e:  # the thread of the job raises it
            self._error = e
        with self._changed:
            self._is_busy = False
            self._changed.notify_all()
        return self._error is None

    def _store(self, files: Mapping[str, Path]) -> None:
        """Store files; retry while the store fails. Errors: OSError."""
        end_s = monotonic() + PATIENCE_S
        while not self.cancelled.is_set():
            try:
                return self.blobs.put_copies(files)
            except OSError as e:
                if monotonic() > end_s:
                    raise
                log.warning("results are not stored yet: %s", e)
                self.cancelled.wait(_AGAIN_S)
