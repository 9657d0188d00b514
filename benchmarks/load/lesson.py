"""The lesson that all students share: its end, its seats for compilations, and its teacher.

From time to time the teacher asks the class to compile: as many students as there are free seats
interrupt their pauses, and compile at the same moment.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import monotonic


class Called(Exception):
    """The teacher has interrupted a pause: the student shall compile now."""


class Over(Exception):
    """The lesson is over."""


@dataclass(eq=False)
class Presence:
    """A compilation that takes a seat; `n_most` is the largest number of taken seats so far."""

    n_most: int


@dataclass(eq=False)
class Lesson:
    """A lesson of `seconds` with `n_seats` compilations at a time.

    `pace` scales all pauses. `active` records the number of taken seats, whenever it changes.
    """

    seconds: float
    n_seats: int
    seed: int
    call_every_s: float = 60.0
    pace: float = 1.0
    links: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """The short links that students have shared: the path, and the job behind it."""
    active: list[tuple[float, int]] = field(default_factory=list[tuple[float, int]])

    def __post_init__(self) -> None:
        self.start_s = monotonic()
        self.is_over = False
        self.n_calls = 0
        self._chance = random.Random(self.seed)
        self._seats = asyncio.Semaphore(self.n_seats)
        self._present: set[Presence] = set()
        self._pausing: set[asyncio.Future[bool]] = set()

    async def teach(self) -> None:
        """Call the class at intervals, and end the lesson."""
        end_s = self.start_s + self.seconds
        while (left_s := end_s - monotonic()) > 0:
            every_s = self.call_every_s or left_s
            await asyncio.sleep(min(every_s, left_s))
            if monotonic() < end_s:
                self.call()
        self.end()

    def end(self) -> None:
        """End the lesson, and all pauses."""
        self.is_over = True
        for each in self._pausing:
            if not each.done():
                each.set_result(False)

    def call(self) -> None:
        """Interrupt the pauses of as many students as there are free seats."""
        self.n_calls += 1
        waiting = [each for each in self._pausing if not each.done()]
        self._chance.shuffle(waiting)
        for each in waiting[: self.n_seats - len(self._present)]:
            each.set_result(True)

    async def pause(self, seconds: float) -> None:
        """Pause a student. Errors: Called, Over."""
        if self.is_over:
            raise Over
        interrupted: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._pausing.add(interrupted)
        try:
            async with asyncio.timeout(seconds * self.pace):
                is_called = await interrupted
        except TimeoutError:
            return
        finally:
            self._pausing.discard(interrupted)
        raise Called if is_called else Over

    @asynccontextmanager
    async def seat(self) -> AsyncGenerator[Presence]:
        """Take a seat for a compilation, when one is free."""
        async with self._seats:
            own = Presence(0)
            self._present.add(own)
            self._note()
            try:
                yield own
            finally:
                self._present.discard(own)
                self._note()

    def _note(self) -> None:
        n = len(self._present)
        for each in self._present:
            each.n_most = max(each.n_most, n)
        self.active.append((monotonic() - self.start_s, n))

    def n_most(self) -> int:
        """Return the largest number of compilations at the same time."""
        return max((n for _, n in self.active), default=0)

    def active_share(self, at_least: int) -> float:
        """Return the share of the lesson with at least this number of compilations."""
        ends = [at for at, _ in self.active[1:]] + [self.seconds]
        spans = zip(self.active, ends, strict=True)
        long = sum(max(0.0, end - at) for (at, n), end in spans if n >= at_least)
        return min(1.0, long / self.seconds)
