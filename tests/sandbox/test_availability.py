"""Tests of obstacles: each names the exact remedy, and nothing runs without a sandbox."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from sandbox import bubblewrap, selftest
from sandbox.availability import APPARMOR_FIX, CONTAINER_FIX, Facts, explain, facts, obstacles
from sandbox.fresh import run
from sandbox.join import Holder
from sandbox.result import SandboxError

GOOD = Facts(
    system="Linux",
    machine="x86_64",
    program="/usr/bin/bwrap",
    version=(0, 8),
    unprivileged_namespaces=None,
    n_namespaces="1000",
    apparmor_restricts=None,
    is_root=False,
    is_in_container=False,
)


def test_this_machine_has_no_obstacle() -> None:
    assert list(obstacles(facts())) == []
    assert list(obstacles(GOOD)) == []


@pytest.mark.parametrize(
    ("changes", "found", "fix"),
    [
        ({"system": "Darwin"}, "this is Darwin", "virtual machine"),
        ({"machine": "riscv64"}, "riscv64", "x86_64"),
        ({"program": None, "version": ()}, "not installed", "apt-get install bubblewrap"),
        ({"version": (0, 6)}, "0.6 is older than 0.8", "0.8 or newer"),
        ({"n_namespaces": "0"}, "disabled", "sysctl user.max_user_namespaces"),
        ({"unprivileged_namespaces": "0"}, "only root", "unprivileged_userns_clone=1"),
    ],
)
def test_an_obstacle_has_its_remedy(changes: dict[str, object], found: str, fix: str) -> None:
    (obstacle,) = obstacles(replace(GOOD, **changes))  # type: ignore[arg-type]
    assert found in obstacle.found
    assert fix in obstacle.fix


def test_root_may_create_namespaces_that_others_may_not() -> None:
    known = replace(GOOD, unprivileged_namespaces="0", is_root=True)
    assert list(obstacles(known)) == []


@pytest.mark.parametrize(
    ("message", "changes", "fix"),
    [
        ("bwrap: setting up uid map: Permission denied", {}, APPARMOR_FIX),
        ("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", {}, APPARMOR_FIX),
        ("bwrap: No permissions to create new namespace", {"is_in_container": True}, CONTAINER_FIX),
        ("bwrap: Can't mount proc on /newroot/proc", {"is_in_container": True}, CONTAINER_FIX),
        (
            "bwrap: Can't set hostname to sandbox: Operation not permitted",
            {"is_in_container": True},
            CONTAINER_FIX,
        ),
        ("bwrap: Creating new namespace failed", {"apparmor_restricts": "1"}, APPARMOR_FIX),
        ("bwrap: Creating new namespace failed", {}, "max_user_namespaces"),
        ("sandbox: Operation not permitted: unshare", {}, CONTAINER_FIX),
        ("bwrap: Can't find source path /x: Permission denied", {}, "chmod -R o+rX"),
        ("bwrap: Unknown option --disable-userns", {}, "0.8 or newer"),
        ("bwrap: a new kind of failure", {}, "compilarium doctor"),
        ("", {}, "compilarium doctor"),
    ],
)
def test_a_message_of_bubblewrap_has_its_remedy(
    message: str, changes: dict[str, object], fix: str
) -> None:
    error = explain(message, replace(GOOD, **changes))  # type: ignore[arg-type]
    assert fix in error.fix
    assert error.message.startswith("the sandbox cannot be built")


def test_without_bubblewrap_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bubblewrap, "program", lambda: None)
    with pytest.raises(SandboxError, match="not installed") as caught:
        run([sys.executable, "-c", "print(1)"])
    assert "apt-get install bubblewrap" in str(caught.value)
    with pytest.raises(SandboxError, match="not installed"):
        Holder()
    report = selftest.examine()
    assert not report.ok
    assert "not installed" in report.obstacle
    assert "apt-get install bubblewrap" in report.fix


def test_a_sandbox_that_cannot_be_built_runs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bubblewrap, "program", lambda: "/usr/bin/false")
    with pytest.raises(SandboxError):
        run([sys.executable, "-c", "print(1)"])
    with pytest.raises(SandboxError):
        Holder()
