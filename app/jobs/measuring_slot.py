"""The measuring slot of the server: while one child measures, all other children are stopped.

A child asks for the slot with the message `slot`, and waits for the answer on its standard input.
The server stops the process groups of the other children (SIGSTOP) and continues them when the
child gives the slot back. The limits on a child's time do not count the time in which the child was
stopped or waited for the slot. See worker_slot.py for the child's side.

Before it grants the slot, the server takes the slot of the machine, which it shares with other
servers and commands of the user. It waits for this slot at most `MACHINE_WAIT_S`; then the child
measures without it, and is told so.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any

from app.jobs.fork_server import Forked
from compiler.bench.machine_slot import MachineSlot

MACHINE_WAIT_S = 2.0
"""Maximum time in seconds to wait for a measurement of another server or command."""
_LOOK_EVERY_S = 0.1
_LOOK_AT_MACHINE_EVERY_S = 0.02


@dataclass(slots=True, eq=False)
class Member:
    """A running child. `idle_s` sums the seconds in which the child was stopped or waited."""

    process: Forked
    is_stopped: bool = False
    idle_s: float = 0.0
    idle_since_s: float | None = None

    def idle_seconds(self, now: float) -> float:
        """Return the seconds until now in which the child was stopped or waited for the slot."""
        return self.idle_s + (0.0 if self.idle_since_s is None else now - self.idle_since_s)

    def tell(self, message: Mapping[str, Any]) -> None:
        """Send a message to the child; a child that has ended needs none."""
        with contextlib.suppress(OSError, ValueError):
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()


class MeasuringSlot:
    """Grants the machine to one child at a time, in the order of their requests.

    `machine` is the slot of the machine; None if the server does not share the machine.

    After a measurement, the other children run for as long as they were stopped. Only then can the
    next measurement start.
    """

    def __init__(
        self, clock: Callable[[], float] = monotonic, machine: MachineSlot | None = None
    ) -> None:
        self.clock, self.machine = clock, machine
        self.machine_since_s: float | None = None
        self.lock = threading.Lock()
        self.members: list[Member] = []
        self.waiting: deque[Member] = deque()
        self.holder: Member | None = None
        self.granted_s = 0.0
        self.next_grant_s = 0.0

    @contextmanager
    def member(self, process: Forked) -> Generator[Member]:
        """Register a child while the block runs; a new child is stopped during a measurement."""
        each = Member(process)
        with self.lock:
            self.members.append(each)
            if self.holder is not None:
                self._stop(each)
        try:
            yield each
        finally:
            with self.lock:
                self.members.remove(each)
                with contextlib.suppress(ValueError):
                    self.waiting.remove(each)
                if not self.waiting:
                    self.machine_since_s = None
                if self.holder is each:
                    self._free()

    def ask(self, member: Member) -> None:
        """Queue a child that wants to measure.

        If the child was stopped after it sent its request, it is continued: it then only waits.
        """
        with self.lock:
            if member is self.holder or member in self.waiting:
                return
            self._continue(member)
            if member.idle_since_s is None:
                member.idle_since_s = self.clock()
            self.waiting.append(member)
            self._grant()

    def give_back(self, member: Member) -> None:
        """End a child's measurement."""
        with self.lock:
            if self.holder is member:
                self._free()

    @property
    def look_every_s(self) -> float:
        """The interval between two calls of `look`, in seconds."""
        return _LOOK_EVERY_S if self.machine_since_s is None else _LOOK_AT_MACHINE_EVERY_S

    def look(self) -> None:
        """Grant the slot if it is free and the other children have run for long enough."""
        with self.lock:
            self._grant()

    def _grant(self) -> None:
        now = self.clock()
        if self.holder is not None or not self.waiting or now < self.next_grant_s:
            return
        has_machine = self.machine is None or self.machine.take()
        if not has_machine and not self._has_waited(now):
            return
        self.machine_since_s = None
        self.holder, self.granted_s = self.waiting.popleft(), now
        for each in self.members:
            if each is not self.holder and each not in self.waiting:
                self._stop(each)
        self._end_idle(self.holder)
        self.holder.tell({"slot": True} if has_machine else {"slot": True, "shared": True})

    def _has_waited(self, now: float) -> bool:
        """Return whether the slot of the machine was in use during the whole waiting time."""
        if self.machine_since_s is None:
            self.machine_since_s = now
        return now - self.machine_since_s >= MACHINE_WAIT_S

    def _free(self) -> None:
        now = self.clock()
        self.holder = None
        if self.machine is not None:
            self.machine.give_back()
        stopped = [each for each in self.members if each.is_stopped]
        self.next_grant_s = now + (now - self.granted_s if stopped else 0.0)
        for each in stopped:
            self._continue(each)
            self._end_idle(each)
        self._grant()

    def _stop(self, member: Member) -> None:
        member.is_stopped, member.idle_since_s = True, self.clock()
        _signal(member, signal.SIGSTOP)

    def _continue(self, member: Member) -> None:
        if member.is_stopped:
            member.is_stopped = False
            _signal(member, signal.SIGCONT)

    def _end_idle(self, member: Member) -> None:
        if member.idle_since_s is None:
            return
        seconds = self.clock() - member.idle_since_s
        member.idle_s += seconds
        member.idle_since_s = None
        member.tell({"idle_s": seconds})


def _signal(member: Member, number: int) -> None:
    """Send a signal to a child and its descendants."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if not member.process.is_released:
            os.killpg(member.process.pid, number)
