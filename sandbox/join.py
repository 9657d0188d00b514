"""The second way in: a forked child joins a prepared sandbox, and keeps the modules of its parent.

bubblewrap builds the sandbox around `cat`, whose end is the end of everything inside. A child of a
single-threaded parent joins the namespaces of the sandbox, and forks once more: only children enter
a namespace of process ids. The first child remains as a stand-in, which returns the exit status to
the parent.
"""

from __future__ import annotations

import contextlib
import os
import resource
import selectors
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NoReturn, Self

from sandbox import kernel, landlock, seal, staging
from sandbox.availability import explain, facts
from sandbox.cgroups import Group
from sandbox.filters import filter_program
from sandbox.inside import READY
from sandbox.launch import environment_of, launched
from sandbox.limits import Limits
from sandbox.result import Result, SandboxError, State
from sandbox.supervise import Stream, supervise
from sandbox.view import Inputs
from sandbox.watch import Watch

_HOLDING = "/usr/bin/cat"
_START_S, _END_S = 20.0, 1.0
_MESSAGE_BYTES = 4096
_ALL_KINDS = sum(bits for kind, bits in kernel.NEW_NAMESPACES.items() if kind != "time")


@dataclass(frozen=True, slots=True)
class Ticket:
    """The data with which a forked child joins a sandbox, besides a descriptor of its first
    process.

    The child may be forked by another process than the holder's, if both have the same user.
    """

    limits: Limits
    environment: Mapping[str, str]
    uid: int | None
    groups: Sequence[str]

    @classmethod
    def from_json(cls, ticket: Mapping[str, Any]) -> Self:
        """Rebuild a ticket from `to_json`."""
        limits, uid, groups = Limits(**ticket["limits"]), ticket["uid"], ticket["groups"]
        return cls(limits, ticket["environment"], uid, groups)

    def to_json(self) -> dict[str, Any]:
        """Return the ticket as JSON."""
        return asdict(self)

    def enter(self, init_end: int, keep: Sequence[int], *, is_detached: bool = True) -> None:
        """Move a freshly forked child into the sandbox, whose first process is `init_end`.

        Only the descriptors `keep` stay open. The function returns in a new process, and the
        calling process waits for its end. With `is_detached`, the new process leads its own
        session. Otherwise it stays in the process group of the calling process, so signals to this
        group reach both. To end both, close the holder. Do not kill the calling process first: the
        sandbox would end only after the machine's first process has reaped the new process. Both
        die with the thread that has forked the calling process.
        Errors: OSError if the sandbox has ended.
        """
        program, landlock_version = filter_program(), landlock.version()
        grandparent_end, parent_end = map(os.pidfd_open, (os.getppid(), os.getpid()))
        groups = [os.open(f"{folder}/cgroup.procs", os.O_WRONLY) for folder in self.groups]
        if self.uid is not None:
            staging.become(self.uid)
        kernel.setns(init_end, _ALL_KINDS)
        pid = os.fork()
        if pid:
            _stand_in(pid, grandparent_end)
        for group in groups:
            os.write(group, b"0")
        kernel.die_with_parent(signal.SIGKILL, parent_end)
        if is_detached:
            os.setsid()
        seal.close_others(keep)
        seal.replace_environment(self.environment)
        seal.seal(self.limits.resource_limits(), landlock_version, program)


class Holder:
    """A complete, empty sandbox for one child. `close` kills everything inside.

    The thread that creates a holder must outlive it: the sandbox ends with this thread.
    Errors: SandboxError if the sandbox cannot be built.
    """

    def __init__(self, limits: Limits | None = None, inputs: Inputs | None = None) -> None:
        self.limits, self.inputs = limits or Limits(), inputs or Inputs()
        self.watch = Watch(self.limits)
        with contextlib.ExitStack() as stack:
            self._start(stack)
            self.stack = stack.pop_all()

    def _start(self, stack: contextlib.ExitStack) -> None:
        asked_end, asked = os.pipe()
        stack.callback(os.close, asked)  # closed last but one: the sandbox is dead by then
        answered, answered_end = os.pipe()
        stack.callback(os.close, answered)
        messages = os.memfd_create("messages")
        stack.callback(os.close, messages)
        try:
            started = launched(
                [_HOLDING],
                self.limits,
                self.inputs,
                stdin=asked_end,
                stdout=answered_end,
                stderr=messages,
            )
            self.sandbox = stack.enter_context(started)
        finally:
            os.close(asked_end)
            os.close(answered_end)
        with contextlib.suppress(BrokenPipeError):
            os.write(asked, b"\n")
        with selectors.DefaultSelector() as selector:
            selector.register(answered, selectors.EVENT_READ)
            is_ready = bool(selector.select(_START_S)) and os.read(answered, 1) == b"\n"
        if not is_ready or self.sandbox.init_end is None:
            words = os.pread(messages, _MESSAGE_BYTES, 0)
            raise explain(words.decode(errors="replace"), facts())

    @property
    def init_end(self) -> int:
        """The descriptor of the first process inside; it becomes readable when this process
        ends."""
        assert self.sandbox.init_end is not None
        return self.sandbox.init_end

    def ticket(self) -> Ticket:
        """Return what a child needs to join, in this or another process."""
        group = self.sandbox.group
        folders = [str(folder) for folder in group.folders] if group is not None else []
        return Ticket(self.limits, environment_of(self.inputs), self.sandbox.uid, folders)

    def enter(self, keep: Sequence[int] = (0, 1, 2)) -> None:
        """Move a freshly forked child of this process into the sandbox; see `Ticket.enter`."""
        self.ticket().enter(self.init_end, keep)

    @property
    def has_group(self) -> bool:
        """Return whether a cgroup bounds the memory and the processes of the sandbox."""
        return self.sandbox.group is not None

    def ran_out_of_memory(self) -> bool:
        """Return whether the kernel killed a process at the limit of the sandbox's memory."""
        group = self.sandbox.group
        return group is not None and group.ran_out_of_memory()

    def exceeded(self, pid: int) -> State | None:
        """Return the limit that the sandbox and the joined child `pid` exceed now, if any.

        Only the memory of all processes and the number of files are compared.
        """
        init = self.sandbox.init
        return self.watch.exceeded([pid, *([init] if init is not None else [])], init)

    def close(self) -> None:
        """Kill everything in the sandbox, and release it."""
        self.stack.close()

    def __enter__(self) -> Holder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _stand_in(pid: int, parent_end: int) -> NoReturn:
    """Wait for the child, and end in the same way, or with the parent."""
    # Becoming another user has cleared an earlier setting.
    kernel.die_with_parent(signal.SIGKILL, parent_end)
    seal.close_others(())
    kernel.drop_capabilities()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        os._exit(code)
    if -code != signal.SIGKILL:
        signal.signal(-code, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [-code])
    os.kill(os.getpid(), -code)
    os._exit(1)


class _Joined:
    """A child that has joined a sandbox, for the supervisor."""

    def __init__(self, pid: int, holder: Holder) -> None:
        self.pid, self.holder = pid, holder
        self.end = os.pidfd_open(pid)
        self.code: int | None = None
        self.group: Group | None = holder.sandbox.group
        self.init: int | None = holder.sandbox.init

    def roots(self) -> Sequence[int]:
        return [self.pid, *([self.init] if self.init is not None else [])]

    def watched(self) -> int:
        return self.end

    def ended(self) -> int | None:
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.code = os.waitstatus_to_exitcode(status) if pid else None
        return self.code

    def kill(self) -> None:
        self.holder.sandbox.kill()
        if self.ended() is None:
            with selectors.DefaultSelector() as selector:
                selector.register(self.end, selectors.EVENT_READ)
                selector.select(_END_S)
        if self.ended() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def call(
    function: Callable[[], object],
    limits: Limits | None = None,
    inputs: Inputs | None = None,
    *,
    cancelled: threading.Event | None = None,
) -> Result:
    """Call a function in a forked child in a new sandbox, and return its end and its output.

    The child exits with 0, or with 1 after an exception, which it prints. Its parent, this process,
    should have no other threads. Errors: SandboxError if the sandbox cannot be built.
    """
    with Holder(limits, inputs) as holder, contextlib.ExitStack() as stack:
        pipes = [os.pipe() for _ in range(3)]
        pid = os.fork()
        if not pid:
            _child(function, holder, [writing for _, writing in pipes])
        for reading, writing in pipes:
            os.close(writing)
            stack.callback(os.close, reading)
        joined = _Joined(pid, holder)
        stack.callback(os.close, joined.end)
        stdout, stderr, status = (reading for reading, _ in pipes)
        n_bytes = holder.limits.output_bytes
        result = supervise(
            joined, Stream(stdout, n_bytes), Stream(stderr, n_bytes), holder.limits, cancelled
        )
        if result.state in ("exited", "signalled") and os.read(status, len(READY)) != READY:
            words = result.stderr.decode(errors="replace").strip()
            raise SandboxError(f"a forked child cannot join the sandbox: {words}")
        return result


def _child(function: Callable[[], object], holder: Holder, ends: Sequence[int]) -> NoReturn:
    code = 1
    try:
        nothing = os.open(os.devnull, os.O_RDONLY)
        for target, source in enumerate([nothing, ends[0], ends[1]]):
            os.dup2(source, target)
        # The parent may have replaced these, or may have text in their buffers.
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)
        status = ends[2]
        holder.enter(keep=(0, 1, 2, status))
        os.write(status, READY)
        os.close(status)
        function()
        code = 0
    except SystemExit as e:
        code = e.code if isinstance(e.code, int) else 1
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    finally:
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
        os._exit(code)
