"""The fork server: a process that has imported the compiler, and forks on request.

The process imports all modules before the first fork, so children start at once. If its children
run jobs, it also compiles some samples (trial.py). A child enters its enclosure before it reads
anything else. The process ends when the server ends.
"""

from __future__ import annotations

import errno
import gc
import json
import os
import signal
import socket
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn

from app.jobs import enclosure
from app.jobs.fork_server import READER, RUNS_JOBS, WORKER
from app.jobs.frames import frame
from app.jobs.worker import Work, work_once
from compiler.errors import CompileError
from sandbox import kernel

_PIPES = 3
_REQUEST_BYTES, _MOST_FILES = 16 * 1024, 8


Roles = Mapping[str, Callable[[], None]]
"""The functions of children, by their roles."""


def serve(kinds: Mapping[str, Work], read: Callable[[], None] | None = None) -> NoReturn:
    """Fork a child for each request on the standard input, which is a socket.

    Workers run a task of these kinds; readers call `read`.
    """
    roles: Roles = {WORKER: lambda: work_once(kinds), READER: read or _nothing}
    gc.freeze()  # otherwise the first garbage collection of a child would copy all pages
    # Python warns about the threads of BLAS, but BLAS itself ends them before a fork.
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    door = socket.socket(fileno=os.dup(0))
    children: set[int] = set()
    while True:
        line, files, _, _ = socket.recv_fds(door, _REQUEST_BYTES, _MOST_FILES)
        if not line:
            _kill(children)
            os._exit(0)
        request = json.loads(line)
        try:
            answer = {"answer": _answer(roles, door, request, files)}
            _count(children, request, answer["answer"])
        except OSError as e:
            answer = {"failed": e.strerror or str(e), "number": e.errno or 0}
        for file in files:
            os.close(file)
        try:
            door.sendall(json.dumps(answer).encode() + b"\n")
        except OSError:
            os._exit(0)  # the server has ended


def _nothing() -> None:
    pass


def _count(children: set[int], request: Mapping[str, Any], answer: int | None) -> None:
    """Remember the children whose process ids are not released."""
    if request["do"] == "fork" and answer:
        children.add(answer)
    elif request["do"] == "release":
        children.discard(request["pid"])


def _kill(children: Iterable[int]) -> None:
    """Kill the children and their descendants, because the server has ended.

    Stopped children would not notice the end of their pipes.
    """
    for pid in children:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)


def _end_with(parent: int) -> None:
    """Let the kernel kill this process when its parent ends."""
    with suppress(OSError, AttributeError):  # on systems other than Linux
        parent_end = os.pidfd_open(parent)
        kernel.die_with_parent(signal.SIGKILL, parent_end)
        os.close(parent_end)
    if os.getppid() != parent:
        os._exit(1)


def _answer(
    roles: Roles,
    door: socket.socket,
    request: Mapping[str, Any],
    files: Sequence[int],
) -> int | None:
    """Return the process id of a new child, or the exit status of a child, negative for a
    signal."""
    if request["do"] == "fork":
        if len(files) < _PIPES:  # the system passes no descriptor that this process could not hold
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return _fork(roles, door, request, files)
    if request["do"] == "release":
        return os.waitstatus_to_exitcode(os.waitpid(request["pid"], 0)[1])
    ended = os.waitid(os.P_PID, request["pid"], os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if ended is None:
        return None
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


def _fork(
    roles: Roles,
    door: socket.socket,
    request: Mapping[str, Any],
    files: Sequence[int],
) -> int:
    parent = os.getpid()
    pid = os.fork()
    if pid:
        with suppress(OSError):
            os.setpgid(pid, pid)  # parent and child both set the group, so either may run first
        return pid
    try:
        os.setpgid(0, 0)
        _end_with(parent)
        pipes, others = files[:_PIPES], files[_PIPES:]
        for number, file in enumerate(pipes):
            os.dup2(file, number)
            os.close(file)
        door.close()
        _enter(request, others)
        roles[request["role"]]()
    finally:
        os._exit(1)


def _enter(request: Mapping[str, Any], files: Sequence[int]) -> None:
    """Enter the enclosure of the request; report a failure and end the process."""
    try:
        enclosure.enter(request, files)
    except OSError as e:
        traceback.print_exc()
        message = f"the child process cannot join its sandbox: {e}"
        error = CompileError("E-SANDBOX-ABSENT", message)
        os.write(1, frame("error", error.to_json()))
        os._exit(1)


if __name__ == "__main__":
    from app.jobs.kinds import WORKS, warm_up
    from app.jobs.machine_facts import load_facts
    from app.jobs.reader import read_texts
    from app.jobs.trial import compile_samples

    warm_up()
    load_facts()
    if RUNS_JOBS in sys.argv:
        compile_samples()
    serve(WORKS, read_texts)
