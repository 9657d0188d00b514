"""The child's side of results: parts, files and events, all written to the pipe of the child.

The server stores parts and files (result_store.py). An event that announces a part follows the part
on the pipe, so the part is stored when a client receives the event.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from app.jobs.limits import output_limit
from app.jobs.parts import packed

Say = Callable[[str, Mapping[str, Any]], None]
"""A function that reports an event."""
Send = Callable[[str, Mapping[str, Any], bytes], None]
"""A function that sends an event, and the bytes that follow it."""


class Results:
    """The results of a job. `limit_bytes` is the maximum size of a file, in bytes."""

    def __init__(self, send: Send, limit_bytes: int) -> None:
        self.send = send
        self.limit_bytes = limit_bytes

    def say(self, event: str, data: Mapping[str, Any]) -> None:
        """Report an event."""
        self.send(event, data, b"")

    def write(self, name: str, payload: Mapping[str, object]) -> None:
        """Give back a part of the result; a later part with the same name replaces it.

        Errors: E-LIMIT-OUTPUT; ValueError for a number that is not finite.
        """
        body = packed(name, payload)
        self.send("part", {"name": name, "bytes": len(body)}, body)

    def write_file(self, name: str, content: bytes) -> None:
        """Give back a file, under a name that the kind of the job declares.

        Errors: E-LIMIT-OUTPUT.
        """
        if len(content) > self.limit_bytes:
            raise output_limit(self.limit_bytes)
        self.send("file", {"name": name, "bytes": len(content)}, content)
