"""The service as its harness sees it: it is started again when it was killed."""

from __future__ import annotations

import os
import re
import secrets
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Literal

from sandbox import cgroups

REPOSITORY = Path(__file__).resolve().parents[2]
_SHIFTED_CLOCK = Path(__file__).with_name("shifted_clock")
_MARK = "COMPILARIUM_FAULTS"
_WORKER = "tests.faults_of_service.worker"
Role = Literal["server", "web", "supervisor", "fork server", "child", "other"]
_LIMIT_S = 120.0


class Service:
    """The processes of a service; `group` is their control group, where one may be created.

    Its server, web workers and supervisors have a mark in their environment. Fork servers and
    children have a fixed environment; their parents show which service they belong to.
    """

    def __init__(self, folder: Path, log: Path, database_url: str = "") -> None:
        self.folder, self.log, self.database_url = folder, log, database_url
        self.mark = secrets.token_hex(8)
        self.clock = log.with_name("clock.txt")
        self.group = _new_group(self.mark)
        self.port = 0
        self.process: subprocess.Popen[str] | None = None
        self.is_stopping = False
        self._thread = threading.Thread(target=self._keep, daemon=True)

    def start(self) -> None:
        """Start the service, and start it again whenever it ends."""
        self._start()
        self._thread.start()

    def stop(self) -> int:
        """End the service in an orderly way; return its exit code."""
        self.is_stopping = True
        self._thread.join()
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(_LIMIT_S)

    def pids(self, role: Role | None = None) -> list[int]:
        """Return the processes of the service, or those of a role."""
        found: dict[int, Role] = {}
        for entry in os.listdir("/proc"):
            if entry.isdigit() and (each := self._role(int(entry))):
                found[int(entry)] = each
        return [pid for pid, each in found.items() if role in (None, each)]

    def _role(self, pid: int) -> Role | None:
        try:
            state, parent = _stat(pid)
            words = _words(pid)
            if state == "Z":
                return None
            if _WORKER in words:
                return self._forked_role(pid, parent)
            if _mark_of(pid) != self.mark:
                return None
        except OSError:  # the process has just ended
            return None
        if "app.jobs.supervisor_process" in words:
            return "supervisor"
        if "tests.faults_of_service.server" not in words:
            return "other"
        return "server" if self.process is not None and pid == self.process.pid else "web"

    def _forked_role(self, pid: int, parent: int) -> Role | None:
        """Return the role of a fork server or child; None if it belongs to another service.

        Errors: OSError.
        """
        top = pid
        while parent and _WORKER in _words(parent):
            top, parent = parent, _stat(parent)[1]
        mark = _mark_of(parent) if parent else ""
        if mark not in (self.mark, ""):
            return None
        is_fork_server = top == pid and mark == self.mark
        return "fork server" if is_fork_server else "child"

    def _keep(self) -> None:
        while not self.is_stopping:
            assert self.process is not None
            if self.process.poll() is not None:
                self._start()
            time.sleep(0.02)

    def set_clock(self, shift_s: float) -> None:
        """Shift the clock of supervisors from the real time."""
        new = self.clock.with_suffix(".new")
        new.write_text(str(shift_s))
        new.replace(self.clock)

    def _start(self) -> None:
        join = ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', str(self.group)]
        program = [sys.executable, "-m", "tests.faults_of_service.server"]
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [*(join if self.group else []), *program, str(self.folder), self.database_url],
                cwd=REPOSITORY,
                env={
                    **os.environ,
                    "PYTHONPATH": f"{_SHIFTED_CLOCK}{os.pathsep}{REPOSITORY}",
                    _MARK: self.mark,
                    f"{_MARK}_CLOCK": str(self.clock),
                    f"{_MARK}_CLOCK_OF": "app.jobs.supervisor_process",
                },
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self.process.stdout is not None
        with self.process.stdout as said:
            found = re.search(r":(\d+)/", said.readline())
        self.port = int(found[1]) if found else 0  # killed before it listens

    def kill_all(self) -> None:
        """Kill what is left of the service."""
        for pid in self.pids():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self.group is not None:
            _remove_group(self.group)


def _new_group(mark: str) -> Path | None:
    """Create a control group that counts processes, if this user may."""
    parents = cgroups.usable()
    if parents is None:
        return None
    group = parents.folders[-1] / f"faults-{mark}"
    group.mkdir()
    if parents.version == 2 and not (group / "pids.max").exists():
        group.rmdir()
        return None
    return group


def _remove_group(group: Path) -> None:
    """Remove a group, and those of sandboxes below it, as soon as their processes have ended."""
    end_s = time.monotonic() + _LIMIT_S
    while group.exists() and time.monotonic() < end_s:
        for folder in [*sorted(group.rglob("*/"), reverse=True), group]:
            with suppress(OSError):
                folder.rmdir()
        time.sleep(0.05)


def _words(pid: int) -> list[str]:
    """Return the command line of a process."""
    return Path(f"/proc/{pid}/cmdline").read_text().split("\0")


def _mark_of(pid: int) -> str:
    """Return the mark in the environment of a process, "" if it has none."""
    variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    marks = [each.decode() for each in variables if each.startswith(f"{_MARK}=".encode())]
    return marks[0].partition("=")[2] if marks else ""


def _stat(pid: int) -> tuple[str, int]:
    """Return the state of a process and its parent."""
    text = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return text[0], int(text[1])
