"""Rate limits for each client address."""

from __future__ import annotations

import threading
import time
from collections import deque

from compiler.errors import CompileError

_MANY = 10_000


class Rate:
    """Limits a client address to `n` requests, or `n` units of `what` such as bytes, per
    `seconds`."""

    def __init__(self, n: int, seconds: float, what: str = "") -> None:
        self.n = n
        self.seconds = seconds
        self.what = what
        self._times: dict[str, deque[tuple[float, int]]] = {}
        self._lock = threading.Lock()

    def count(self, address: str, now_s: float | None = None, amount: int = 1) -> None:
        """Count a request from an address, unless this exceeds the rate. Errors: E-LIMIT-RATE."""
        now = time.monotonic() if now_s is None else now_s
        with self._lock:
            if len(self._times) >= _MANY:
                self._forget(now)
            times = self._times.setdefault(address, deque())
            while times and times[0][0] <= now - self.seconds:
                times.popleft()
            had = sum(each for _, each in times)
            if had + amount > self.n:
                hint = "share shorter texts, or wait"
                raise CompileError(
                    "E-LIMIT-RATE", self._says(had, amount), hint=hint if self.what else ""
                )
            times.append((now, amount))

    def _says(self, had: int, amount: int) -> str:
        limit = (
            f"at most {self.n:,} {self.what or 'such requests'} are accepted in {self.seconds:,g} s"
        )
        if not self.what:
            return limit
        return f"{limit} from one address, which has sent {had:,}; this request has {amount:,}"

    def _forget(self, now: float) -> None:
        """Forget the idle client addresses, or all addresses if too few are idle."""
        recent = {a: t for a, t in self._times.items() if t and t[-1][0] > now - self.seconds}
        self._times = recent if len(recent) < _MANY else {}
