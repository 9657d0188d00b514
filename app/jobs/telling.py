"""Progress events of measurements."""

from __future__ import annotations

from time import perf_counter

from app.jobs.results import Say
from app.rounds import Tell

_EVERY_S = 0.05


def sparsely(say: Say) -> Tell:
    """Return a function that reports finished rounds: at most every 50 ms, and always the last."""
    last = 0.0

    def tell(done: int, share: float) -> None:
        nonlocal last
        now = perf_counter()
        if now - last >= _EVERY_S or share >= 1.0:
            last = now
            say("round", {"done": done, "share": share})

    return tell
