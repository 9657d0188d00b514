"""Trials in child processes: a crash or a timeout is an outcome."""

from __future__ import annotations

import os
import pickle
import select
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

T = TypeVar("T")

SECONDS = 120.0
"""Time limit of one trial."""


class Died(Exception):
    """A child process ended without an answer, or exceeded the time limit."""


def in_child(work: Callable[[], T], seconds: float = SECONDS) -> T:
    """Return the result of `work` in a forked child. Errors: Died."""
    for found in each_in_child(lambda _: work(), [None], seconds):
        if isinstance(found, Died):
            raise found
        return found
    raise AssertionError("each item gives one answer")


def each_in_child(
    work: Callable[[S], T], items: Sequence[S], seconds: float = SECONDS
) -> Iterator[T | Died]:
    """Yield the result of `work` for each item, with a new child only after a crash."""
    done = 0
    while done < len(items):
        child, reader = _forked(work, items[done:])
        try:
            while done < len(items):
                answer = _answer(reader, seconds)
                done += 1
                yield answer
                if isinstance(answer, Died):
                    break
        finally:
            os.close(reader)
            _end(child)


S = TypeVar("S")


def _forked(work: Callable[[S], T], items: Sequence[S]) -> tuple[int, int]:
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        return child, reader
    os.close(reader)
    status = 1
    try:
        for item in items:
            text = pickle.dumps(work(item))
            os.write(writer, len(text).to_bytes(8, "little"))
            sent = 0
            while sent < len(text):
                sent += os.write(writer, text[sent:])
        status = 0
    finally:
        os._exit(status)  # neither the tests nor other code of the parent may continue in the child


def _answer(reader: int, seconds: float) -> Any:
    deadline = time.monotonic() + seconds
    head = _read(reader, 8, deadline)
    if isinstance(head, Died):
        return head
    text = _read(reader, int.from_bytes(head, "little"), deadline)
    return text if isinstance(text, Died) else pickle.loads(text)


def _read(reader: int, size: int, deadline: float) -> bytes | Died:
    text = b""
    while len(text) < size:
        ready, _, _ = select.select([reader], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return Died("no answer in time")
        part = os.read(reader, size - len(text))
        if not part:
            return Died("the process died")
        text += part
    return text


def _end(child: int) -> None:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
