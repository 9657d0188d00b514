"""Faults of the machine: a full or read-only disk, too few descriptors or processes, a wrong clock.

Root mounts disks, and counts processes by a control group. For other users, limits of processes and
permissions have the same effects.
"""

from __future__ import annotations

import os
import resource
import stat
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.faults_of_service.scene import Scene
from tests.mounts import unwritable
from tests.platforms import may_mount

_DAY_S = 86_400.0
_ROLES = ("server", "web", "supervisor", "fork server")
_FILLER_BYTES = 1024 * 1024


def fill_disk(scene: Scene) -> bool:
    """Fill the disk of the data folder; without a small disk, forbid files to grow."""
    if not may_mount():
        limits = dict.fromkeys(scene.service.pids(), 0)
        with _limited(limits, resource.RLIMIT_FSIZE, scene):
            scene.last()
        return True
    filler = scene.service.folder / "filler"
    try:
        with suppress(OSError), filler.open("wb", buffering=0) as file:
            while file.write(bytes(_FILLER_BYTES)) == _FILLER_BYTES:
                pass
            while file.write(bytes(512)):
                pass
        scene.last()
    finally:
        filler.unlink(missing_ok=True)
    return True


def forbid_writes(scene: Scene) -> bool:
    """Let nobody write in the data folder, or in the folder of jobs."""
    folder = scene.service.folder / scene.chance.choice([".", "jobs"])
    with unwritable(folder.resolve()) if may_mount() else _without_permission(folder):
        scene.last()
    return True


@contextmanager
def _without_permission(folder: Path) -> Generator[None]:
    mode = stat.S_IMODE(folder.stat().st_mode)
    folder.chmod(0o500)
    try:
        yield
    finally:
        folder.chmod(mode)


def use_up_descriptors(scene: Scene) -> bool:
    """Let some processes of the service open no further file."""
    role = scene.chance.choice(_ROLES)
    pids = [pid for each in {role, "supervisor"} for pid in scene.service.pids(each)]
    used = {pid: _n_descriptors(pid) for pid in pids}
    limits = {pid: n + scene.chance.randrange(3) for pid, n in used.items() if n}
    with _limited(limits, resource.RLIMIT_NOFILE, scene):
        scene.last()
    return bool(limits)


def use_up_processes(scene: Scene) -> bool:
    """Let the service start no further process or thread."""
    group = scene.service.group
    more = scene.chance.randrange(3)
    if group is None:
        limits = dict.fromkeys(scene.service.pids(), _n_threads_of_user() + more)
        with _limited(limits, resource.RLIMIT_NPROC, scene):
            scene.last()
        return True
    n_now = int((group / "pids.current").read_text())
    (group / "pids.max").write_text(str(n_now + more))
    try:
        scene.last()
    finally:
        (group / "pids.max").write_text("max")
    return True


def may_limit_processes(scene: Scene) -> bool:
    """Return whether a limit of processes has an effect: root needs a control group."""
    return scene.service.group is not None or os.geteuid() != 0


def shift_clock(scene: Scene) -> bool:
    """Let the clock of supervisors jump, forward or back, by up to a day; it stays there."""
    days = scene.chance.choice([-1.0, 1.0]) * scene.chance.random() ** 3
    scene.service.set_clock(days * _DAY_S)
    return True


@contextmanager
def _limited(values: Mapping[int, int], limit: int, scene: Scene) -> Generator[None]:
    """Lower a limit of some processes, and raise it again, also of those that they start."""
    for pid, value in values.items():
        with suppress(ProcessLookupError, PermissionError):
            _, hard = resource.prlimit(pid, limit)
            resource.prlimit(pid, limit, (_least(value, hard), hard))
    try:
        yield
    finally:
        usual, _ = resource.getrlimit(limit)
        for pid in [*scene.service.pids(), *scene.service.pids()]:
            with suppress(ProcessLookupError, PermissionError):
                _, hard = resource.prlimit(pid, limit)
                resource.prlimit(pid, limit, (_least(usual, hard), hard))


def _least(value: int, hard: int) -> int:
    known = [each for each in (value, hard) if each != resource.RLIM_INFINITY]
    return min(known, default=resource.RLIM_INFINITY)


def _n_descriptors(pid: int) -> int:
    """Return the number above the highest descriptor of a process; 0 if it has ended."""
    try:
        return 1 + max(map(int, os.listdir(f"/proc/{pid}/fd")), default=0)
    except OSError:
        return 0


def _n_threads_of_user() -> int:
    n = 0
    for each in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            if os.stat(f"/proc/{each}").st_uid == os.getuid():
                n += len(os.listdir(f"/proc/{each}/task"))
    return n
