"""The measuring slot as a job uses it: the child's side of measuring_slot.py."""

from __future__ import annotations

import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Any

from compiler.bench.disturbance import Disturbance, Watch
from compiler.limits import not_counted

if TYPE_CHECKING:
    from app.jobs.results import Say

LONGEST_S = 1.0
"""Longest time in seconds that a measurement keeps the slot without a pause."""

_connected = threading.Event()
_granted = threading.Event()
_shared = threading.Event()
"""Set while the granted slot is shared with a measurement of another server or command."""


def connect() -> None:
    """Declare that this process is a child of a server, which answers requests for the slot."""
    _connected.set()


def heard(message: Mapping[str, Any]) -> None:
    """Handle a message of the server: the grant of the slot, or seconds that limits do not
    count."""
    if "idle_s" in message:
        not_counted(float(message["idle_s"]))
    if message.get("slot"):
        (_shared.set if message.get("shared") else _shared.clear)()
        _granted.set()


class Slot:
    """The slot of one measurement; it observes the disturbance while the child holds the slot."""

    def __init__(self, say: Say, threads: int) -> None:
        self._say = say
        self._start_s = 0.0
        self._watch = Watch(threads)

    def take(self) -> None:
        """Wait for the slot."""
        _granted.clear()
        if _connected.is_set():
            self._say("slot", {"wanted": True})
            _granted.wait()
            if _shared.is_set():
                self._watch.is_exclusive = False
        self._start_s = perf_counter()
        self._watch.begin()

    def give_back(self) -> None:
        """Let the other jobs of the server continue."""
        self._watch.end()
        if _connected.is_set():
            self._say("slot", {"wanted": False})

    def pause(self) -> None:
        """Let other jobs run, if the measurement has kept the slot for long.

        To be called between two rounds of a measurement.
        """
        if perf_counter() - self._start_s > LONGEST_S:
            self.give_back()
            self.take()

    def disturbance(self) -> Disturbance:
        """Return the disturbance of the measurement, after the block of `measuring`."""
        return self._watch.disturbance()


@contextmanager
def measuring(say: Say, threads: int) -> Generator[Slot]:
    """Measure alone: no other job of this server runs during the block, and no other measurement
    of this user on the machine."""
    slot = Slot(say, threads)
    slot.take()
    try:
        yield slot
    finally:
        slot.give_back()
