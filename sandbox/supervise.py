"""The supervisor of a run: collects its output, and ends it at a limit.

The clock and all counts are outside the sandbox. Output comes through pipes only, so nothing that
the sandbox writes is opened by name.
"""

from __future__ import annotations

import os
import selectors
import signal
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sandbox.cgroups import Group
from sandbox.limits import Limits
from sandbox.result import Result, State
from sandbox.watch import Watch

_LOOK_EVERY_S = 0.05
_DRAIN_S = 2.0
_PIECE_BYTES = 1 << 16


class Target(Protocol):
    """A running sandbox."""

    @property
    def group(self) -> Group | None:
        """The cgroup of the sandbox, if it has one."""
        ...

    @property
    def init(self) -> int | None:
        """The first process of the sandbox."""
        ...

    def roots(self) -> Sequence[int]:
        """Return the processes above all processes of the sandbox."""
        ...

    def watched(self) -> int:
        """Return a descriptor that becomes readable when the run ends."""
        ...

    def ended(self) -> int | None:
        """Return the exit code of the run, negative for a signal, or None while it runs."""
        ...

    def kill(self) -> None:
        """Kill every process of the sandbox, and wait until they have ended."""
        ...


@dataclass(slots=True)
class Stream:
    """A pipe from the sandbox, and its content up to a number of bytes."""

    file: int
    limit_bytes: int
    content: bytearray = field(default_factory=bytearray)
    is_open: bool = True

    def read(self) -> bool:
        """Read a piece; return whether the content is within the limit."""
        try:
            piece = os.read(self.file, _PIECE_BYTES)
        except BlockingIOError:
            return True
        self.is_open = bool(piece)
        self.content += piece
        is_within = len(self.content) <= self.limit_bytes
        del self.content[self.limit_bytes :]
        return is_within


def supervise(
    target: Target,
    stdout: Stream,
    stderr: Stream,
    limits: Limits,
    cancelled: threading.Event | None = None,
) -> Result:
    """Wait for the end of a run, kill whatever remains of it, and return its result."""
    start_s = time.monotonic()
    watch = Watch(limits)
    streams = (stdout, stderr)
    for stream in streams:
        os.set_blocking(stream.file, False)
    try:
        state = _wait(target, streams, limits, cancelled, watch, start_s)
    finally:
        code = target.ended()
        target.kill()
    seconds = time.monotonic() - start_s
    if not _drain(streams):
        state = state or "output"
    if state is None:
        state, code = _natural_end(target, code if code is not None else target.ended())
    group_bytes = target.group.peak_bytes() if target.group is not None else 0
    return Result(
        state,
        code or 0,
        bytes(stdout.content),
        bytes(stderr.content),
        seconds,
        group_bytes or watch.peak_bytes,
    )


def _wait(
    target: Target,
    streams: Sequence[Stream],
    limits: Limits,
    cancelled: threading.Event | None,
    watch: Watch,
    start_s: float,
) -> State | None:
    """Return the limit that ended the run, or None if it ended by itself."""
    next_look_s = start_s
    with selectors.DefaultSelector() as selector:
        selector.register(target.watched(), selectors.EVENT_READ)
        for stream in streams:
            selector.register(stream.file, selectors.EVENT_READ, stream)
        while target.ended() is None:
            left_s = start_s + limits.seconds - time.monotonic()
            if left_s <= 0:
                return "seconds"
            if cancelled is not None and cancelled.is_set():
                return "cancelled"
            for key, _ in selector.select(min(left_s, _LOOK_EVERY_S)):
                if isinstance(key.data, Stream):
                    if not key.data.read():
                        return "output"
                    if not key.data.is_open:
                        selector.unregister(key.fileobj)
            if time.monotonic() >= next_look_s:
                next_look_s = time.monotonic() + _LOOK_EVERY_S
                if exceeded := watch.exceeded(target.roots(), target.init):
                    return exceeded
    return None


def _drain(streams: Sequence[Stream]) -> bool:
    """Read the rest of the output in the pipes; return whether it is within the limits."""
    end_s = time.monotonic() + _DRAIN_S
    with selectors.DefaultSelector() as selector:
        for stream in streams:
            if stream.is_open:
                selector.register(stream.file, selectors.EVENT_READ, stream)
        while selector.get_map() and time.monotonic() < end_s:
            for key, _ in selector.select(end_s - time.monotonic()):
                if not key.data.read():
                    return False
                if not key.data.is_open:
                    selector.unregister(key.fileobj)
    return True


def _natural_end(target: Target, code: int | None) -> tuple[State, int]:
    """Return the state of a run that no limit of the supervisor ended."""
    if code is None or code >= 0:
        return "exited", code or 0
    if -code == signal.SIGXCPU:
        return "seconds", -code
    if target.group is not None and target.group.ran_out_of_memory():
        return "memory", -code
    return "signalled", -code
