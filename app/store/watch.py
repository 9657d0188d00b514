"""Wakes threads that wait for a change of the database by any process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic

from sqlalchemy import Engine

from app.store.dialects import Version

_PAUSE_S, _BUSY_PAUSE_S, _LIVELY_S = 0.01, 0.002, 0.25
"""Interval between two polls, the shorter interval after a change, and its duration. Changes often
follow each other, such as the claim and the end of a small job."""
_AWAY_S = 0.5
_IDLE_S = 60.0


class Watch:
    """Counts changes of a database: those of this process at once, others soon afterwards.

    A thread polls the database while other threads wait.
    """

    def __init__(self, engine: Callable[[], Engine]) -> None:
        self._engine = engine
        self._changed = threading.Condition()
        self._n_waiting = 0
        self._thread: threading.Thread | None = None
        self._is_closed = False
        self.n = 0
        """The number of changes seen so far."""

    def poke(self) -> None:
        """Note a change."""
        with self._changed:
            self.n += 1
            self._changed.notify_all()

    def wait(self, seen: int, timeout_s: float) -> int:
        """Return the number of changes as soon as it differs from `seen`, or after the timeout."""
        with self._changed:
            if self.n != seen:
                return self.n
            self._start()
            self._n_waiting += 1
            self._changed.notify_all()
            try:
                self._changed.wait_for(lambda: self.n != seen, timeout_s)
            finally:
                self._n_waiting -= 1
            return self.n

    def wait_for(self, holds: Callable[[], bool], timeout_s: float) -> bool:
        """Wait until a condition on the database holds; return False after the timeout."""
        end = monotonic() + timeout_s
        seen = self.n
        while not holds():
            left = end - monotonic()
            if left <= 0:
                return False
            seen = self.wait(seen, left)
        return True

    def close(self) -> None:
        """End the thread."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join()
        with self._changed:
            self._thread, self._is_closed = None, False

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._look, name="changes", daemon=True)
            self._thread.start()

    def _look(self) -> None:
        version: Version | None = None
        pause_s, lively_until = _PAUSE_S, 0.0
        while self._is_awaited(pause_s):
            try:
                version = version or Version(self._engine())
                has_changed = version.has_changed()
            except Exception:  # the database is away: waiting threads find out themselves
                if version is not None:
                    version.close()
                version, has_changed = None, True
            if has_changed:
                self.poke()
                lively_until = monotonic() + _LIVELY_S
            is_lively = monotonic() < lively_until
            pause_s = _AWAY_S if version is None else _BUSY_PAUSE_S if is_lively else _PAUSE_S
        if version is not None:
            version.close()

    def _is_awaited(self, pause_s: float) -> bool:
        """Pause until the next poll; return False at the end of the watch."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed, pause_s)
            # Without waiting threads, look now and then: PostgreSQL keeps notices until then.
            self._changed.wait_for(lambda: self._is_closed or self._n_waiting > 0, _IDLE_S)
            return not self._is_closed
