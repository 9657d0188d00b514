"""Tests that nothing of a job survives a SIGKILL of any of its processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from sandbox.watch import descendants
from tests.app.conftest import until
from tests.users import REPOSITORY, USERS, environment, start_as

VICTIMS = ("server", "fork server", "holder", "init", "parent", "child")


@pytest.fixture(params=USERS)
def server(request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    """A server with a running job."""
    started = subprocess.Popen(
        [*start_as(request.param), sys.executable, "-m", "tests.app.lone_server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
        env=environment(),
    )
    with started:
        assert said(started) == "running"
        yield started
        started.kill()


def said(server: subprocess.Popen[str]) -> str:
    assert server.stdout is not None
    return server.stdout.readline().strip()


def children(pid: int) -> list[int]:
    return [int(n) for n in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_of(pid: int, word: str) -> bool:
    return word in Path(f"/proc/{pid}/cmdline").read_text()


def processes(server: int) -> Mapping[str, int]:
    """Return the processes of the server's only job."""
    direct = [pid for pid in descendants([server]) if pid != server]
    fork_server = next(pid for pid in direct if is_of(pid, "odd_worker"))
    holder = next(pid for pid in direct if is_of(pid, "bwrap"))
    (parent,) = children(fork_server)
    (child,) = children(parent)
    (init,) = children(holder)
    numbers = (server, fork_server, holder, init, parent, child)
    return dict(zip(VICTIMS, numbers, strict=True))


def start_time(pid: int) -> str:
    """Return the time at which a process was started; "" if it has ended."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return fields[19] if fields[0] not in "ZX" else ""
    return ""


@pytest.mark.parametrize("victim", VICTIMS)
def test_nothing_survives(server: subprocess.Popen[str], victim: str) -> None:
    job = processes(server.pid)
    alive = {pid: start_time(pid) for pid in descendants([server.pid])}
    assert len(alive) >= len(VICTIMS)
    os.kill(job[victim], signal.SIGKILL)
    if victim != "server":
        assert said(server) in ("E-LIMIT-CRASH", "E-LIMIT-MEMORY")
        assert said(server) == "stopped"
        alive.pop(server.pid)
    until(lambda: not [pid for pid, since in alive.items() if start_time(pid) == since])
