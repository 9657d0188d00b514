"""How often one address may ask for something."""

from __future__ import annotations

import threading
import time
from collections import deque

from compiler.errors import CompileError

_MANY = 10_000


class Rate:
    """At most `n` times in `seconds` from each address."""

    def __init__(self, n: int, seconds: float) -> None:
        self.n = n
        self.seconds = seconds
        self._times: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    def count(self, address: str, now_s: float | None = None) -> None:
        """Note a request of an address. Errors: E-LIMIT-RATE; a refused request is not counted."""
        now = time.monotonic() if now_s is None else now_s
        with self._lock:
            if len(self._times) >= _MANY:
                self._forget(now)
            times = self._times.setdefault(address, deque())
            while times and times[0] <= now - self.seconds:
                times.popleft()
            if len(times) >= self.n:
                raise CompileError(
                    "E-LIMIT-RATE", f"at most {self.n} of these are taken in {self.seconds:g} s"
                )
            times.append(now)

    def _forget(self, now: float) -> None:
        """Drop the addresses that have been silent; all of them when none has been."""
        recent = {a: t for a, t in self._times.items() if t and t[-1] > now - self.seconds}
        self._times = recent if len(recent) < _MANY else {}
