"""Tests of processes of bubblewrap that outlive their owner."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from sandbox import Holder, launch
from sandbox.leftovers import kill_leftovers, leftovers, own_name

OWNER = "from sandbox.leftovers import own_name; print(own_name())"
OTHER_NAMESPACE = "bwrap-of-1-999999-1"


def name_of_a_dead_owner() -> str:
    return subprocess.run([sys.executable, "-c", OWNER], capture_output=True, text=True).stdout[:-1]


@pytest.fixture
def named() -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    """Return a sleeping process for each name: of a dead owner, of this one, of another machine."""
    names = (name_of_a_dead_owner(), own_name(), OTHER_NAMESPACE)
    command = ["60"]
    found = {n: subprocess.Popen([n, *command], executable="/usr/bin/sleep") for n in names}
    yield found
    for process in found.values():
        with suppress(ProcessLookupError):
            process.kill()
        process.wait()


def test_only_processes_of_dead_owners_are_leftovers(named: dict[str, subprocess.Popen[bytes]]):
    dead, own, other = named.values()
    found = set(leftovers())
    assert dead.pid in found
    assert not {own.pid, other.pid} & found
    kill_leftovers()
    assert dead.wait(5) == -signal.SIGKILL
    assert own.poll() is None
    assert other.poll() is None


def test_a_reused_process_id_is_another_owner():
    name = re.sub(r"\d+$", "1", own_name())
    for _ in range(5):
        with subprocess.Popen([name, "60"], executable="/usr/bin/sleep") as process:
            is_found = process.pid in set(leftovers())
            process.kill()
        if is_found:
            return
        # The first sandbox of a concurrent test has killed the process.
    raise AssertionError("the process is no leftover")


def test_the_first_sandbox_of_a_process_kills_leftovers(
    named: dict[str, subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
):
    launch._clean_up.cache_clear()
    with Holder() as holder:
        assert next(iter(named.values())).wait(5) == -signal.SIGKILL
        command = Path(f"/proc/{holder.sandbox.process.pid}/cmdline").read_text()
        assert command.split("\0")[0] == own_name()
