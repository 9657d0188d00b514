"""The kinds of faults, and their choice."""

from __future__ import annotations

from collections.abc import Mapping

from tests.faults_of_service import kills, outages, shortages
from tests.faults_of_service.scene import Fault, Scene

FAULTS: Mapping[str, Fault] = {
    "child": Fault(36, kills.kill_one("child")),
    "fork server": Fault(20, kills.kill_one("fork server")),
    "supervisor": Fault(14, kills.kill_one("supervisor")),
    "web": Fault(6, kills.kill_one("web")),
    "server": Fault(6, kills.kill_one("server")),
    "supervisor and fork server": Fault(7, kills.kill_all("supervisor", "fork server")),
    "all": Fault(5, kills.kill_all("server", "web", "supervisor", "fork server", "child")),
    "supervisor stopped": Fault(3, kills.stop_supervisor),
    "lock held": Fault(5, outages.hold_lock),
    "database away": Fault(4, outages.go_away),
    "connections ended": Fault(4, outages.end_connections, is_possible=outages.has_connections),
    "connection killed": Fault(2, outages.kill_connection, is_possible=outages.has_connections),
    "clock": Fault(4, shortages.shift_clock),
    "disk full": Fault(3, shortages.fill_disk, may_fail_jobs=True),
    "disk read-only": Fault(3, shortages.forbid_writes, may_fail_jobs=True),
    "descriptors": Fault(3, shortages.use_up_descriptors, may_fail_jobs=True),
    "processes": Fault(
        3,
        shortages.use_up_processes,
        may_fail_jobs=True,
        is_possible=shortages.may_limit_processes,
    ),
}


def chosen(scene: Scene, n: int) -> list[str]:
    """Return the names of `n` faults: each kind once, if they are enough, then by their shares."""
    possible = [name for name, fault in FAULTS.items() if fault.is_possible(scene)]
    shares = [FAULTS[name].share for name in possible]
    some = scene.chance.sample(possible, min(n, len(possible)))
    more = scene.chance.choices(possible, shares, k=n - len(some))
    found = [*some, *more]
    scene.chance.shuffle(found)
    return found
