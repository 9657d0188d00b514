"""The kinds of faults, each with its share of all faults."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from tests.faults_of_service.service import Role, Service

_APPEARS_S = 2.0
"""Time in which a process of a role appears, such as a child; then another fault is chosen."""
Fault = Callable[[Service, random.Random], bool]
"""A function that causes a fault; it returns False if there was nothing to kill."""


def _kill(role: Role) -> Fault:
    def kill(service: Service, chance: random.Random) -> bool:
        end_s = time.monotonic() + _APPEARS_S
        while not (pids := service.pids(role)) and time.monotonic() < end_s:
            time.sleep(0.005)
        if not pids:
            return False
        with suppress(ProcessLookupError):
            os.kill(chance.choice(pids), signal.SIGKILL)
        return True

    return kill


def _kill_with(*roles: Role) -> Fault:
    """Kill all processes of several roles at the same moment."""

    def kill(service: Service, _: random.Random) -> bool:
        pids = [pid for role in roles for pid in service.pids(role)]
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return bool(pids)

    return kill


def _stop_supervisor(service: Service, chance: random.Random) -> bool:
    """Stop the supervisor for longer than its leases, and let it continue as a late owner."""
    from tests.faults_of_service.server import LEASE_S

    pids = service.pids("supervisor")
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    time.sleep(chance.uniform(0.0, 1.5 * LEASE_S))
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    return bool(pids)


def _hold_database(service: Service, chance: random.Random) -> bool:
    """Hold the lock of the database, and drop the connection without an end of the transaction."""
    file: Path = service.folder / "compilarium.db"
    with suppress(sqlite3.OperationalError), closing(sqlite3.connect(file, timeout=5)) as held:
        held.isolation_level = None
        held.execute("BEGIN IMMEDIATE")
        held.execute("UPDATE jobs SET priority = priority")
        time.sleep(chance.uniform(0.0, 0.5))
    return True


FAULTS: dict[str, tuple[int, Fault]] = {
    "child": (36, _kill("child")),
    "fork server": (20, _kill("fork server")),
    "supervisor": (14, _kill("supervisor")),
    "web": (6, _kill("web")),
    "server": (6, _kill("server")),
    "supervisor and fork server": (7, _kill_with("supervisor", "fork server")),
    "all": (5, _kill_with("server", "web", "supervisor", "fork server", "child")),
    "supervisor stopped": (3, _stop_supervisor),
    "database": (5, _hold_database),
}
