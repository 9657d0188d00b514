"""Tests of control groups on imitated hierarchies, and in the real one where it is permitted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sandbox import cgroups
from sandbox.cgroups import Group, Parents, remove_leftovers, usable
from sandbox.limits import Limits

LIMITS = Limits(memory_bytes=3 << 20, n_processes=5)


@pytest.fixture
def version_2(tmp_path: Path) -> Path:
    """A hierarchy in which the folder `service` is delegated and enables both controllers."""
    folder = tmp_path / "service" / "server"
    folder.mkdir(parents=True)
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids\n")
    for path, enabled in ((folder.parent, "memory pids"), (folder, "")):
        (path / "cgroup.subtree_control").write_text(enabled)
        (path / "cgroup.procs").write_text("")
    (tmp_path / "membership").write_text("0::/service/server\n")
    return tmp_path


def test_version_2_uses_the_folder_that_enables_the_controllers(version_2: Path) -> None:
    found = usable(version_2, version_2 / "membership")
    assert found == Parents(2, (version_2 / "service",))


def test_version_2_without_enabled_controllers_is_not_usable(version_2: Path) -> None:
    (version_2 / "service" / "cgroup.subtree_control").write_text("cpu")
    assert usable(version_2, version_2 / "membership") is None


def test_a_delegated_group_gets_the_controllers_and_a_group_for_its_processes(
    version_2: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a unit of systemd with Delegate=, whose processes are in the group of the unit."""
    unit = version_2 / "service" / "server"
    (version_2 / "service" / "cgroup.subtree_control").write_text("")
    (unit / "cgroup.procs").write_text("11\n12\n")
    assert usable(version_2, version_2 / "membership") is None, "the group above is of this user"
    monkeypatch.setattr(cgroups, "_is_delegated", lambda folder: True)
    assert usable(version_2, version_2 / "membership") == Parents(2, (unit,))
    assert (unit / "cgroup.subtree_control").read_text() == "+memory +pids"
    assert (unit / "compilarium" / "cgroup.procs").read_text() == "12"


def test_a_delegated_group_is_of_this_user_and_has_the_controllers(
    version_2: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unit = version_2 / "service" / "server"
    facts = {unit: os.geteuid(), unit.parent: os.geteuid() + 1}
    stat = Path.stat
    monkeypatch.setattr(
        Path,
        "stat",
        lambda self, **named: (
            os.stat_result([0] * 4 + [facts[self]] + [0] * 5)
            if self in facts
            else stat(self, **named)
        ),
    )
    assert not cgroups._is_delegated(unit)
    (unit / "cgroup.controllers").write_text("cpu memory pids")
    assert cgroups._is_delegated(unit)
    facts[unit.parent] = os.geteuid()
    assert not cgroups._is_delegated(unit)


def test_version_1_needs_both_controllers(tmp_path: Path) -> None:
    membership = tmp_path / "membership"
    membership.write_text("8:pids:/\n4:memory:/session/7\n0::/\n")
    (tmp_path / "memory" / "session" / "7").mkdir(parents=True)
    assert usable(tmp_path, membership) is None
    (tmp_path / "pids").mkdir()
    folders = (tmp_path / "memory" / "session" / "7", tmp_path / "pids")
    assert usable(tmp_path, membership) == Parents(1, folders)


def test_empty_groups_of_killed_processes_are_removed(tmp_path: Path) -> None:
    names = ("compilarium-4194305-0", f"compilarium-{os.getpid()}-0", "compilarium-4194305-1", "x")
    for name in names:
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (0, 0))
    (tmp_path / names[2]).touch()  # a new group, whose first process has not joined yet
    os.utime(tmp_path / names[2])
    remove_leftovers(Parents(2, (tmp_path,)))
    assert {path.name for path in tmp_path.iterdir()} == set(names[1:])


def test_limits_are_written_where_the_kernel_has_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Path.mkdir

    def mkdir_like_the_kernel(self: Path, *arguments: object) -> None:
        made(self)
        for name in ("memory.max", "memory.swap.max", "memory.oom.group", "pids.max"):
            (self / name).write_text("max")

    monkeypatch.setattr(Path, "mkdir", mkdir_like_the_kernel)
    group = Group(Parents(2, (tmp_path,)), LIMITS)
    (folder,) = group.folders
    assert (folder / "memory.max").read_text() == str(LIMITS.memory_bytes)
    assert (folder / "memory.swap.max").read_text() == "0"
    assert (folder / "pids.max").read_text() == str(LIMITS.n_processes)
    (folder / "memory.events").write_text("oom 1\noom_kill 0\n")
    assert not group.ran_out_of_memory()
    (folder / "memory.events").write_text("oom 1\noom_kill 2\n")
    assert group.ran_out_of_memory()
    (folder / "memory.peak").write_text("12345")
    assert group.peak_bytes() == 12345


def test_a_group_of_this_machine_is_removed_again() -> None:
    parents = usable()
    if parents is None:  # an ordinary user without delegation
        return
    group = Group(parents, LIMITS)
    assert all(folder.is_dir() for folder in group.folders)
    group.remove()
    assert not any(folder.exists() for folder in group.folders)
