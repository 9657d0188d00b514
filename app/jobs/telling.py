"""How far a measurement is, told to whoever waits for it."""

from __future__ import annotations

from time import perf_counter

from app.jobs.rounds import Tell
from app.jobs.worker import Say

_EVERY_S = 0.05


def sparsely(say: Say) -> Tell:
    """Rounds that are done as events, not more often than a page can show; the last one always."""
    last = 0.0

    def tell(done: int, share: float) -> None:
        nonlocal last
        now = perf_counter()
        if now - last >= _EVERY_S or share >= 1.0:
            last = now
            say("round", {"done": done, "share": share})

    return tell
