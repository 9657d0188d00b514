"""The world outside the sandbox: what attacks try to reach, and checks that it is intact."""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

SECRET = "the secret of the host"
VARIABLE = "ATTACKED_SECRET"
POISON = {
    VARIABLE: SECRET,
    "LD_PRELOAD": "",
    "PYTHONPATH": "/nowhere",
    "PYTHONSTARTUP": "/nowhere/startup.py",
    "PYTHONWARNINGS": "",
}
"""Variables of the process that starts the sandbox; nothing inside may see them."""


@contextlib.contextmanager
def prepared() -> Generator[Mapping[str, Any]]:
    """Yield the addresses of things outside: a file, sockets, and this process."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        canary = folder / "canary"
        canary.write_text(SECRET)
        opened = os.open(canary, os.O_RDONLY)
        os.set_inheritable(opened, True)
        stack.callback(os.close, opened)
        path = folder / "socket"
        abstract = f"attacked-{os.getpid()}"
        listeners = {
            "port": (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
            "datagrams": (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            "path": (socket.AF_UNIX, socket.SOCK_STREAM, str(path)),
            "abstract": (socket.AF_UNIX, socket.SOCK_STREAM, f"\0{abstract}"),
        }
        made: dict[str, socket.socket] = {}
        for name, (family, kind, address) in listeners.items():
            made[name] = stack.enter_context(socket.socket(family, kind))
            made[name].bind(address)
            if kind == socket.SOCK_STREAM:
                made[name].listen()
        yield {
            "canary": str(canary),
            "variable": VARIABLE,
            "pid": os.getpid(),
            "mark": f"attacker-of-{os.getpid()}",
            "port": made["port"].getsockname()[1],
            "datagrams": made["datagrams"].getsockname()[1],
            "path": str(path),
            "abstract": abstract,
        }


def canary_is_intact(given: Mapping[str, Any]) -> str:
    """Return "" if the file outside has its content."""
    found = Path(given["canary"])
    if found.is_symlink() or found.read_text() != SECRET:
        return "the file outside was changed"
    return ""


def survivor(mark: str) -> str:
    """Return "" if no process on this machine has a mark in its command."""
    own = {os.getpid(), os.getppid()}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            words = Path("/proc", name, "cmdline").read_bytes().split(b"\0")
            if mark.encode() in words and int(name) not in own:
                return f"the process {name} survived"
    return ""
