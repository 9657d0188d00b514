"""The start of bubblewrap, with the descriptors, the user and the group of a sandbox."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from functools import cache
from pathlib import Path

from sandbox import bubblewrap, staging
from sandbox.availability import explain, facts
from sandbox.cgroups import Group, Parents, remove_leftovers, usable
from sandbox.filters import filter_program
from sandbox.leftovers import kill_leftovers, own_name
from sandbox.limits import Limits
from sandbox.result import SandboxError
from sandbox.users import dedicated_user
from sandbox.view import ENVIRONMENT, Bind, Inputs, system_binds, system_links

_START_S = 20.0
_END_S = 5.0
_INFO_BYTES = 4096


class Sandbox:
    """A running bubblewrap: its process, and the first process inside."""

    def __init__(self, process: subprocess.Popen[bytes], group: Group | None, uid: int | None):
        self.process, self.group, self.uid = process, group, uid
        self.process_end = os.pidfd_open(process.pid)
        self.init: int | None = None
        self.init_end: int | None = None

    def meet(self, info: bytes) -> None:
        """Record the first process inside, which bubblewrap reports."""
        pid = int(json.loads(info)["child-pid"])
        with contextlib.suppress(OSError):
            end = os.pidfd_open(pid)
            if _parent_of(pid) == self.process.pid:
                self.init, self.init_end = pid, end
            else:  # it has ended, and the number belongs to another process
                os.close(end)

    def roots(self) -> Sequence[int]:
        """Return the processes above all processes of the sandbox."""
        return [self.process.pid]

    def watched(self) -> int:
        """Return a descriptor that becomes readable when bubblewrap ends."""
        return self.process_end

    def ended(self) -> int | None:
        """Return the exit code of the command, negative for a signal, or None while it runs."""
        code = self.process.poll()
        # Like a shell, bubblewrap exits with 128 and the signal of its command.
        return 128 - code if code is not None and 128 < code < 128 + signal.NSIG else code

    def kill(self) -> None:
        """Kill every process of the sandbox, and wait until they have ended."""
        if self.group is not None:
            self.group.kill()
        if self.init_end is not None:
            # The kernel kills all processes of a namespace with its first process.
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.init_end, signal.SIGKILL)
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            # A joined child whose parent was killed waits for the machine's first process.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(_END_S)
        if self.init_end is not None:
            with selectors.DefaultSelector() as selector:
                selector.register(self.init_end, selectors.EVENT_READ)
                selector.select(_END_S)

    def close(self) -> None:
        """Kill the sandbox, and release its descriptors."""
        self.kill()
        for descriptor in (self.process_end, self.init_end):
            if descriptor is not None:
                os.close(descriptor)
        self.init_end = None


def _parent_of(pid: int) -> int:
    with open(f"/proc/{pid}/stat", "rb") as stat:
        return int(stat.read().rpartition(b")")[2].split()[1])


@contextlib.contextmanager
def launched(
    inner: Sequence[str],
    limits: Limits,
    inputs: Inputs,
    *,
    stdin: int,
    stdout: int,
    stderr: int,
    keep: Sequence[int] = (),
) -> Generator[Sandbox]:
    """Start a command inside a new sandbox, and kill the sandbox at the end.

    The descriptors `keep` stay open inside. Errors: SandboxError if bubblewrap cannot start.
    """
    path = bubblewrap.program()
    if path is None:
        raise explain("bwrap: not found", facts())
    _clean_up()
    with contextlib.ExitStack() as stack:
        uid = stack.enter_context(dedicated_user())
        group = _new_group(stack, limits)
        binds = [*system_binds(), *inputs.binds()]
        data = {p: _content(stack, c) for p, c in inputs.files.items()}
        filter_file = _content(stack, filter_program())
        info, info_end = _pipe(stack)
        command = bubblewrap.command(
            own_name(),
            binds=binds,
            links=system_links(),
            environment={**ENVIRONMENT, **inputs.environment},
            limits=limits,
            data=data,
            filter_file=filter_file,
            info_file=info_end,
        )
        outside = _outside(path, uid, group, binds)
        process = subprocess.Popen(
            [*outside, *command, *inner],
            executable=outside[0] if outside else path,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            pass_fds=(*data.values(), filter_file, info_end, *keep),
            # Otherwise /proc/1/environ would show the variables of this process.
            env={"PATH": ENVIRONMENT["PATH"]},
            start_new_session=True,
            cwd="/",
        )
        os.close(info_end)
        sandbox = Sandbox(process, group, uid)
        stack.callback(sandbox.close)
        if words := _read_info(info):
            sandbox.meet(words)
        yield sandbox


def _new_group(stack: contextlib.ExitStack, limits: Limits) -> Group | None:
    parents = _parents()
    if parents is None:
        return None
    try:
        group = Group(parents, limits)
    except OSError as e:
        raise SandboxError(f"the cgroup of a sandbox cannot be created: {e}") from None
    stack.callback(group.remove)
    return group


@cache
def _parents() -> Parents | None:
    found = usable()
    if found is not None:
        remove_leftovers(found)
    return found


@cache
def _clean_up() -> None:
    kill_leftovers()


def _outside(path: str, uid: int | None, group: Group | None, binds: Sequence[Bind]) -> list[str]:
    """Return the launcher that prepares the start of bubblewrap; [] if no step is needed."""
    given = [f"group={folder}" for folder in (group.folders if group else ())]
    if uid is not None:
        given += [f"show={bind.source}" for bind in binds]
        given += [f"user={uid}"]
    if not given:
        return []
    given.append(f"program={path}")
    package = str(Path(__file__).resolve().parents[1])
    return [sys.executable, "-I", "-S", "-c", staging.CODE, package, *given, "--"]


def _content(stack: contextlib.ExitStack, content: bytes) -> int:
    """Return a descriptor of a file in memory with this content."""
    file = os.memfd_create("sandbox")
    stack.callback(os.close, file)
    with open(file, "wb", closefd=False) as writing:
        writing.write(content)
    os.lseek(file, 0, os.SEEK_SET)
    return file


def _pipe(stack: contextlib.ExitStack) -> tuple[int, int]:
    reading, writing = os.pipe()
    stack.callback(os.close, reading)
    return reading, writing


def _read_info(info: int) -> bytes:
    """Return the report of bubblewrap, empty if it failed before."""
    words = b""
    with selectors.DefaultSelector() as selector:
        selector.register(info, selectors.EVENT_READ)
        while b"}" not in words and selector.select(_START_S):
            piece = os.read(info, _INFO_BYTES)
            if not piece:
                return b""
            words += piece
    return words


def environment_of(inputs: Inputs) -> Mapping[str, str]:
    """Return the environment inside."""
    return {**ENVIRONMENT, **inputs.environment}
