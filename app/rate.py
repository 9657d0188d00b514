"""Rate limits: their declaration, their error, and counters in the memory of a process."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass

from compiler.errors import CompileError

_MANY = 10_000


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `n` requests, or `n` units of `what` such as bytes, per `seconds`; 0 is no limit."""

    n: int
    seconds: float
    what: str = ""


class TooMany(CompileError):
    """E-LIMIT-RATE, with the time in seconds after which the client may try again."""

    def __init__(
        self, limit: Limit, whose: str, had: int, amount: int, retry_after_s: float
    ) -> None:
        what = limit.what or "such requests"
        seconds = f"{limit.seconds:,g} s"
        message = f"at most {limit.n:,} {what} are accepted in {seconds} from one {whose}"
        if limit.what:
            message += f", which has sent {had:,}; this request has {amount:,}"
        hint = "share shorter texts, or wait" if limit.what else ""
        super().__init__("E-LIMIT-RATE", message, hint=hint)
        self.retry_after_s = retry_after_s


class Rate:
    """Limits each client, with counters in memory: for frequent requests that need no disk."""

    def __init__(self, limit: Limit) -> None:
        self.limit = limit
        self._times: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    def count(self, client: str, now_s: float | None = None) -> None:
        """Count a request of a client, unless it exceeds the limit. Errors: TooMany."""
        now = time.monotonic() if now_s is None else now_s
        n, seconds = self.limit.n, self.limit.seconds
        if not n:
            return
        with self._lock:
            if len(self._times) >= _MANY:
                self._forget(now)
            times = self._times.setdefault(client, deque())
            while times and times[0] <= now - seconds:
                times.popleft()
            if len(times) >= n:
                raise TooMany(self.limit, "client", len(times), 1, times[0] + seconds - now)
            times.append(now)

    def _forget(self, now: float) -> None:
        """Forget the idle clients, or all clients if too few are idle."""
        since = now - self.limit.seconds
        recent = {c: t for c, t in self._times.items() if t and t[-1] > since}
        self._times = recent if len(recent) < _MANY else {}
