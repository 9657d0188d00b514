"""What a fault acts on: the service, its database, and the limits of this machine."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from tests.faults_of_service.service import Service
from tests.faults_of_service.stores import Store


@dataclass
class Scene:
    """A service under load. Outages take at most `longest_s` seconds."""

    service: Service
    store: Store
    chance: random.Random
    longest_s: float

    def last(self) -> None:
        """Let an outage last for a while."""
        time.sleep(self.outage_s())

    def outage_s(self) -> float:
        """Return the duration of an outage."""
        return self.chance.uniform(0.1 * self.longest_s, self.longest_s)


Act = Callable[[Scene], bool]
"""A function that causes a fault; it returns False if there was nothing to act on."""


@dataclass(frozen=True)
class Fault:
    """A kind of fault: its share of all faults, and whether jobs may fail because of it."""

    share: int
    act: Act
    may_fail_jobs: bool = False
    is_possible: Callable[[Scene], bool] = lambda _: True
