"""The messages of a child: JSON lines on its pipe, some of which announce bytes that follow.

A line is `{"event": name, "data": {...}}`. The lines of the events in `WITH_BODY` give the number
of bytes that follow the line directly: `{"event": "part", "data": {"name": "result", "bytes": 9}}`.
The child writes with `frame`; the server reads with `Frames`, and trusts nothing that it reads.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from app.jobs.limits import invalid_message, output_limit

WITH_BODY = ("part", "file")
"""Events with bytes after their line: a part of the result, and a file."""

LINE_LIMIT_BYTES = 1024 * 1024
LINES_LIMIT_BYTES = 16 * 1024 * 1024
"""Maximum total size of all lines of a child, without the bytes that follow lines."""


class Body(Protocol):
    """The receiver of the bytes that follow a line."""

    n_left: int

    def write(self, piece: memoryview) -> None:
        """Receive the next bytes, at most `n_left`."""
        ...

    def finish(self) -> None:
        """End the body, which is complete."""
        ...


OnLine = Callable[[str, dict[str, Any]], Body | None]
"""A function that handles an event, and returns the receiver of the bytes that follow."""


def frame(event: str, data: Mapping[str, Any]) -> bytes:
    """Return the line of an event. Errors: ValueError for a number that is not finite."""
    return json.dumps({"event": event, "data": data}, allow_nan=False).encode() + b"\n"


class Frames:
    """Splits the bytes of a child into events and bodies, in bounded memory."""

    def __init__(self, on_line: OnLine) -> None:
        self.on_line = on_line
        self.body: Body | None = None
        self.rest = b""
        self.n_bytes = 0
        self.is_ended = False

    def end(self) -> None:
        """Ignore all further bytes."""
        self.is_ended = True

    def take(self, data: bytes) -> None:
        """Handle the next bytes of the child.

        Errors: E-LIMIT-CRASH for an invalid line, E-LIMIT-OUTPUT for too many lines, and the errors
        of the handlers.
        """
        at = 0
        while at < len(data) and not self.is_ended:
            at = self._line(data, at) if self.body is None else self._body(self.body, data, at)

    def _body(self, body: Body, data: bytes, at: int) -> int:
        end = min(at + body.n_left, len(data))
        body.write(memoryview(data)[at:end])
        self._finish_complete()
        return end

    def _line(self, data: bytes, at: int) -> int:
        end = data.find(b"\n", at)
        is_whole = end >= 0
        piece = data[at:end] if is_whole else data[at:]
        self.n_bytes += len(piece) + is_whole
        self.rest += piece
        if self.n_bytes > LINES_LIMIT_BYTES or len(self.rest) > LINE_LIMIT_BYTES:
            raise output_limit(LINES_LIMIT_BYTES)
        if not is_whole:
            return len(data)
        line, self.rest = self.rest, b""
        self.body = self.on_line(*_parsed(line))
        self._finish_complete()
        return end + 1

    def _finish_complete(self) -> None:
        if self.body is not None and self.body.n_left == 0:
            body, self.body = self.body, None
            body.finish()


def _parsed(line: bytes) -> tuple[str, dict[str, Any]]:
    """Return the name and the data of an event. Errors: E-LIMIT-CRASH."""
    try:
        message = json.loads(line, parse_constant=_refuse)
        event, data = message["event"], message["data"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise invalid_message(line) from None
    if not isinstance(event, str) or not isinstance(data, dict):
        raise invalid_message(line)
    return event, data  # pyright: ignore[reportUnknownVariableType]


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
