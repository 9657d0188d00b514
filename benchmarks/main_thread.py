"""Tasks of a page's main thread during a `with` block, from Chromium's trace.

The long-task entries of a page contain only tasks of more than 50 ms of wall time, which includes
preemption by other programs. A trace contains every task, with its thread time.
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
"""Users notice longer tasks. Source: RAIL; the Long Tasks API of the W3C."""

_CATEGORIES = ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"]


@dataclass
class Tasks:
    """The tasks during one `with` block: the thread time and wall time of each task."""

    cpu_ms: tuple[float, ...] = ()
    wall_ms: tuple[float, ...] = ()

    @property
    def longest_ms(self) -> float:
        """Return the thread time of the longest task in milliseconds."""
        return max(self.cpu_ms, default=0.0)

    def words(self) -> str:
        """Return the number of tasks whose wall time exceeds the limit, as text."""
        n = sum(ms > LONG_MS for ms in self.wall_ms)
        return f"{n} of {len(self.wall_ms):,} tasks over {LONG_MS} ms"


@contextmanager
def watched(browser: Browser, page: Page) -> Generator[Tasks]:
    """Yield the tasks of the page's main thread; the tasks are complete after the `with` block."""
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
    """Return the outermost tasks of the thread that ran the page's scripts, in order."""
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
    """Yield tasks that no other task contains: a nested event loop runs tasks inside a task."""
    end = 0
    for event in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
        if event["ts"] >= end:
            end = event["ts"] + event["dur"]
            yield event
