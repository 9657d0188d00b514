"""A child process for jobs that tries to get out of its sandbox, and tells what it reached."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import compiler
from app.jobs.fork_server_process import serve
from app.jobs.results import Results
from app.jobs.task import Task
from app.jobs.worker import Work

Given = Mapping[str, Any]
PART = "probe"


def read_folder(given: Given) -> str:
    return ",".join(os.listdir(given["folder"]))


def read_file(given: Given) -> str:
    return Path(given["file"]).read_text()


def read_passwords(_: Given) -> str:
    return Path("/etc/passwd").read_text()


def read_parent_environment(_: Given) -> str:
    return next(
        Path("/proc", pid, "environ").read_text()
        for pid in os.listdir("/proc")
        if pid.isdigit() and int(pid) not in (1, os.getpid())
    )


def reach_server(given: Given) -> str:
    with socket.create_connection(("127.0.0.1", given["port"]), timeout=5):
        return "connected"


def reach_server_by_unix_socket(given: Given) -> str:
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(given["socket"])
        return "connected"


def write_beside_inputs(given: Given) -> str:
    Path(given["inputs"][0]).with_name("new").write_text("x")
    return "written"


def write_input(given: Given) -> str:
    Path(given["inputs"][0]).write_text("x")
    return "written"


def write_program(_: Given) -> str:
    Path(str(compiler.__file__)).with_name("new.py").write_text("x")
    return "written"


def write_root(_: Given) -> str:
    Path("/new").write_text("x")
    return "written"


def signal_server(given: Given) -> str:
    os.kill(given["server"], signal.SIGTERM)
    return "sent"


def open_other_descriptor(_: Given) -> str:
    extra = [int(name) for name in os.listdir("/proc/self/fd") if int(name) > 4]
    return os.readlink(f"/proc/self/fd/{extra[0]}")


def become_root(_: Given) -> str:
    os.setuid(0)
    return "root"


def trace_neighbour(_: Given) -> str:
    attach = 16
    if ctypes.CDLL(None, use_errno=True).ptrace(attach, 1, 0, 0) < 0:
        raise OSError(ctypes.get_errno(), "ptrace")
    return "attached"


ATTEMPTS: tuple[Callable[[Given], str], ...] = (
    read_folder,
    read_file,
    read_passwords,
    read_parent_environment,
    reach_server,
    reach_server_by_unix_socket,
    write_beside_inputs,
    write_input,
    write_program,
    write_root,
    signal_server,
    open_other_descriptor,
    become_root,
    trace_neighbour,
)


def probe(task: Task, results: Results) -> None:
    """Try everything, and tell what was reached, and what the child sees."""
    inputs = [str(path) for path in task.inputs.values()]
    given = {**task.request["probe"], "inputs": inputs}
    reached: dict[str, str] = {}
    for attempt in ATTEMPTS:
        try:
            reached[attempt.__name__] = attempt(given)
        except (OSError, IndexError, StopIteration):
            continue
    files = [os.path.join(at, name) for at, _, names in os.walk("/in") for name in names]
    results.write(
        PART,
        {
            "reached": reached,
            "environment": dict(os.environ),
            "files": sorted(files),
            "content": [Path(p).read_text() for p in inputs if os.path.isfile(p)],
            "top": sorted(os.listdir("/")),
            "uid": os.getuid(),
            "processes": sorted(int(n) for n in os.listdir("/proc") if n.isdigit()),
            "memory": [m for m in given["secrets"] if m in _memory()],
        },
    )


def _memory() -> str:
    """Return the environment that the process was started with, as far as it can still be read."""
    words = " ".join(sys.argv)
    with suppress(PermissionError):
        words += Path("/proc/self/environ").read_text()
    return words


KINDS: dict[str, Work] = {"compile": probe}

if __name__ == "__main__":
    serve(KINDS)
