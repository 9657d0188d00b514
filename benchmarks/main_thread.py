"""What the main thread of a page did while a block ran, from Chromium's own trace.

The page's long-task entries know only what took over 50 ms by the clock, with what other programs
took from it. A trace has every task, and the time that the thread itself was running.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Browser, Page

LONG_MS = 50
"""A longer task is one that a user can feel (RAIL; the Long Tasks API of the W3C)."""

_CATEGORIES = ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"]


@dataclass
class Tasks:
    """The tasks of one block: how long each took, by the thread's time and by the clock."""

    cpu_ms: tuple[float, ...] = ()
    wall_ms: tuple[float, ...] = ()

    @property
    def longest_ms(self) -> float:
        """Thread time of the longest task."""
        return max(self.cpu_ms, default=0.0)

    def words(self) -> str:
        """What the clock says of them."""
        n = sum(ms > LONG_MS for ms in self.wall_ms)
        return f"{n} of {len(self.wall_ms):,} tasks over {LONG_MS} ms"


@contextmanager
def watched(browser: Browser, page: Page) -> Generator[Tasks]:
    """The tasks of the page's main thread in the block, filled in when it ends."""
    tasks = Tasks()
    browser.start_tracing(page=page, categories=_CATEGORIES)
    try:
        yield tasks
    finally:
        events = json.loads(browser.stop_tracing())["traceEvents"]
    found = tasks_of(events)
    tasks.cpu_ms = tuple(task["tdur"] / 1000 for task in found)
    tasks.wall_ms = tuple(task["dur"] / 1000 for task in found)


def tasks_of(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The outermost tasks of the thread that ran the page's scripts, in order."""
    mains = {
        _thread(event)
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    calls = Counter(
        _thread(event)
        for event in events
        if event["name"] in ("FunctionCall", "FireAnimationFrame") and _thread(event) in mains
    )
    if not calls:
        return []
    busiest = calls.most_common(1)[0][0]
    runs = [e for e in events if e["name"] in _TASK_NAMES and e["ph"] == "X" and "tdur" in e]
    return list(_outermost(e for e in runs if _thread(e) == busiest))


_TASK_NAMES = ("RunTask", "ThreadControllerImpl::RunTask")


def _thread(event: dict[str, Any]) -> tuple[int, int]:
    return event["pid"], event["tid"]


def _outermost(events: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Tasks that lie in no other: a loop inside a task runs tasks of its own."""
    end = 0
    for event in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
        if event["ts"] >= end:
            end = event["ts"] + event["dur"]
            yield event
