"""Faults of processes: they are killed, or stopped for longer than their leases."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress

from tests.faults_of_service.scene import Act, Scene
from tests.faults_of_service.service import Role

_APPEARS_S = 2.0
"""Time in which a process of a role appears, such as a child; then another fault is chosen."""


def kill_one(role: Role) -> Act:
    """Return a fault that kills a process of a role."""

    def kill(scene: Scene) -> bool:
        end_s = time.monotonic() + _APPEARS_S
        while not (pids := scene.service.pids(role)) and time.monotonic() < end_s:
            time.sleep(0.005)
        if not pids:
            return False
        with suppress(ProcessLookupError):
            os.kill(scene.chance.choice(pids), signal.SIGKILL)
        return True

    return kill


def kill_all(*roles: Role) -> Act:
    """Return a fault that kills all processes of several roles at the same moment."""

    def kill(scene: Scene) -> bool:
        pids = [pid for role in roles for pid in scene.service.pids(role)]
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return bool(pids)

    return kill


def stop_supervisor(scene: Scene) -> bool:
    """Stop the supervisor for longer than its leases, and let it continue as a late owner."""
    from tests.faults_of_service.server import LEASE_S

    pids = scene.service.pids("supervisor")
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    time.sleep(scene.chance.uniform(0.0, 1.5 * LEASE_S))
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    return bool(pids)
