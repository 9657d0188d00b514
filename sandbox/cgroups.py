"""Control groups: one count of memory and processes for a whole sandbox, if permitted.

Both versions are supported. Version 2 needs a delegated group, from a unit of systemd with
`Delegate=`, or from `systemd-run --user --scope -p Delegate=yes`. Version 1 needs a writable
hierarchy, as root has. Without a group, limits of each process and samples of their sum remain: see
watch.py.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox.limits import Limits

HIERARCHY = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")
CONTROLLERS = ("memory", "pids")

_PREFIX = "compilarium"
_REMOVAL_S = 2.0
_ATTEMPTS = 50
_LEFT_AFTER_S = 60.0
"""Age of an empty group before its removal: a new group is empty until its first process joins."""
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class Parents:
    """The groups below which new groups may be created: one of version 2, or two of version 1."""

    version: int
    folders: tuple[Path, ...]


def usable(hierarchy: Path = HIERARCHY, membership: Path = MEMBERSHIP) -> Parents | None:
    """Return the groups below which this process may create groups with limits, or None."""
    return _version_2(hierarchy, membership) or _version_1(hierarchy, membership)


def remove_leftovers(parents: Parents) -> None:
    """Remove the empty groups of processes that were killed before they could remove them."""
    for parent in parents.folders:
        for folder in parent.glob(f"{_PREFIX}-*-*"):
            pid = folder.name.split("-")[1]
            with contextlib.suppress(OSError):
                age_s = time.time() - folder.stat().st_mtime
                if age_s > _LEFT_AFTER_S and not Path("/proc", pid).exists():
                    folder.rmdir()  # fails for a group with processes


def _version_2(hierarchy: Path, membership: Path) -> Parents | None:
    own = _memberships(membership).get("")
    if own is None or not (hierarchy / "cgroup.controllers").is_file():
        return None
    folder = hierarchy / own.lstrip("/")
    for parent in (folder, folder.parent):
        enabled = _words(parent / "cgroup.subtree_control")
        if set(CONTROLLERS) <= enabled and _can_create(parent) and _may_join(parent):
            return Parents(2, (parent,))
    if _is_delegated(folder) and _enable_controllers(folder) and _can_create(folder):
        return Parents(2, (folder,))
    return None


def _is_delegated(folder: Path) -> bool:
    """Return whether this user owns a group, and another user owns the group above it."""
    try:
        owner, above = folder.stat().st_uid, folder.parent.stat().st_uid
    except OSError:
        return False
    return owner == os.geteuid() != above and set(CONTROLLERS) <= _words(
        folder / "cgroup.controllers"
    )


def _enable_controllers(folder: Path) -> bool:
    """Enable the controllers in a delegated group; its processes move into a group below it.

    The kernel does not permit both processes and enabled controllers in a group.
    """
    below = folder / _PREFIX
    with contextlib.suppress(OSError):
        below.mkdir(exist_ok=True)
        for _ in range(_ATTEMPTS):
            for pid in _members(folder):
                with contextlib.suppress(OSError):  # it has ended
                    (below / "cgroup.procs").write_text(str(pid))
            with contextlib.suppress(OSError):  # a process was forked meanwhile
                enabled = " ".join(f"+{name}" for name in CONTROLLERS)
                (folder / "cgroup.subtree_control").write_text(enabled)
                return True
            time.sleep(0.01)
    return False


def _version_1(hierarchy: Path, membership: Path) -> Parents | None:
    own = _memberships(membership)
    folders: list[Path] = []
    for controller in CONTROLLERS:
        if controller not in own or not (hierarchy / controller).is_dir():
            return None
        # A container may see its group as the root of the hierarchy.
        named = hierarchy / controller / own[controller].lstrip("/")
        folders.append(named if named.is_dir() else hierarchy / controller)
    if all(_can_create(folder) for folder in folders):
        return Parents(1, tuple(folders))
    return None


def _memberships(membership: Path) -> Mapping[str, str]:
    """Return the group of this process by controller; version 2 has the name ""."""
    found: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in membership.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            found |= dict.fromkeys(controllers.split(","), path)
    return found


def _words(path: Path) -> set[str]:
    try:
        return set(path.read_text().split())
    except OSError:
        return set()


def _may_join(parent: Path) -> bool:
    """Return whether processes may move into groups below; groups of systemd are not writable."""
    return parent == HIERARCHY or os.access(parent / "cgroup.procs", os.W_OK)


def _can_create(parent: Path) -> bool:
    trial = parent / _new_name()
    try:
        trial.mkdir()
    except OSError:
        return False
    trial.rmdir()
    return True


def _new_name() -> str:
    return f"{_PREFIX}-{os.getpid()}-{next(_numbers)}"


class Group:
    """A group with limits for one sandbox."""

    def __init__(self, parents: Parents, limits: Limits) -> None:
        name = _new_name()
        self.version = parents.version
        self.folders: Sequence[Path] = [parent / name for parent in parents.folders]
        for folder in self.folders:
            folder.mkdir()
        if self.version == 2:
            self._set("memory.max", limits.memory_bytes)
            self._set("memory.swap.max", 0)
            self._set("memory.oom.group", 1)
        else:
            self._set("memory.limit_in_bytes", limits.memory_bytes)
            self._set("memory.memsw.limit_in_bytes", limits.memory_bytes)
        self._set("pids.max", limits.n_processes)

    def _set(self, name: str, value: int) -> None:
        """Write a limit if the kernel has it; accounting of swap is optional."""
        for folder in self.folders:
            if (folder / name).exists():
                (folder / name).write_text(str(value))

    def ran_out_of_memory(self) -> bool:
        """Return whether the kernel killed a process of the group at its memory limit."""
        texts = self._texts("memory.events" if self.version == 2 else "memory.oom_control")
        counts = dict(line.split() for text in texts for line in text.splitlines())
        return int(counts.get("oom_kill", 0)) > 0

    def peak_bytes(self) -> int:
        """Return the largest memory of the group until now, 0 if the kernel does not report it."""
        name = "memory.peak" if self.version == 2 else "memory.max_usage_in_bytes"
        return max((int(text) for text in self._texts(name)), default=0)

    def kill(self) -> None:
        """Kill all processes of the group."""
        for folder in self.folders:
            with contextlib.suppress(OSError):
                (folder / "cgroup.kill").write_text("1")
                continue
            for pid in _members(folder):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def remove(self) -> None:
        """Remove the group after its processes have ended."""
        end_s = time.monotonic() + _REMOVAL_S
        for folder in self.folders:
            while folder.exists() and time.monotonic() < end_s:
                try:
                    folder.rmdir()
                except OSError:  # the kernel still releases the last process
                    self.kill()
                    time.sleep(0.005)

    def _texts(self, name: str) -> Iterator[str]:
        for folder in self.folders:
            with contextlib.suppress(OSError):
                yield (folder / name).read_text()


def _members(folder: Path) -> Iterator[int]:
    with contextlib.suppress(OSError):
        yield from map(int, (folder / "cgroup.procs").read_text().split())
