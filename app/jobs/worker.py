"""The nursery's side, and the child's: fork when asked; do one job under limits, say how it goes.

Everything is imported before the first fork, so that a child starts at once. Both end when the
server does.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import socket
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from compiler.errors import CompileError

Say = Callable[[str, Mapping[str, Any]], None]
Work = Callable[[Mapping[str, Any], Path, Mapping[str, Any], Say], None]
"""What does a job: (request, folder, task, say); what it returns is in the folder."""


_NICE = 10
"""Weighs 110 where the usual 0 weighs 1,024 (sched(7)): jobs are slowed down, never starved."""


def serve(kinds: Mapping[str, Work]) -> NoReturn:
    """Fork a child for each that the server asks for on the standard input, a socket."""
    _give_way()
    gc.freeze()  # or the first collection in a child would write to all pages
    # The threads that Python warns of are those of BLAS, which ends them before a fork by itself.
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    door = socket.socket(fileno=os.dup(0))
    while True:
        line, files, _, _ = socket.recv_fds(door, 4096, 3)
        if not line:
            os._exit(0)
        request = json.loads(line)
        try:
            answer = {"answer": _answer(kinds, door, request["do"], request["pid"], files)}
        except OSError as e:
            answer = {"failed": str(e)}
        for file in files:
            os.close(file)
        try:
            door.sendall(json.dumps(answer).encode() + b"\n")
        except OSError:
            os._exit(0)  # the server has gone in between


def _give_way() -> None:
    """Let the server, and a browser beside it, go first: pages are waited for, jobs less so."""
    os.nice(_NICE)
    # Linux may weigh whole sessions against each other (autogroups, sched(7)), and ours is one.
    with suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(_NICE), encoding="ascii")


def _answer(
    kinds: Mapping[str, Work], door: socket.socket, what: str, pid: int, files: Sequence[int]
) -> int | None:
    """The number of a new child, or how one ended: a signal as a negative number."""
    if what == "fork":
        return _fork(kinds, door, files)
    if what == "release":
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if ended is None:
        return None
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


def _fork(kinds: Mapping[str, Work], door: socket.socket, files: Sequence[int]) -> int:
    pid = os.fork()
    if pid:
        with suppress(OSError):
            os.setpgid(pid, pid)  # both do it, so that it is true for both at once
        return pid
    try:
        os.setpgid(0, 0)
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        door.close()
        serve_one(kinds)
    finally:
        os._exit(1)


def serve_one(kinds: Mapping[str, Work]) -> NoReturn:
    """Do the one job that comes on the standard input, and end the process."""
    say = _take_standard_output()
    line = sys.stdin.buffer.readline()
    if not line:
        os._exit(0)
    task = json.loads(line)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    _limit(task)
    folder = Path(task["folder"])
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    try:
        kinds[request["kind"]](request, folder, task, say)
    except CompileError as e:
        say("error", e.to_json())
    except MemoryError:
        say("error", _memory_error(task).to_json())
    except OSError as e:
        say("error", _os_error(e, task).to_json())
    except Exception as e:
        traceback.print_exc()
        message = f"the compiler failed on this model: {type(e).__name__}: {str(e)[:500]}"
        say("error", CompileError("E-SERVER-BUG", message).to_json())
    else:
        say("done", {})
    sys.stderr.flush()
    os._exit(0)  # without the time that taking everything apart would need


def _take_standard_output() -> Say:
    """A function that writes messages; whatever else is printed goes to the log instead."""
    pipe = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    lock = threading.Lock()

    def say(event: str, data: Mapping[str, Any]) -> None:
        line = json.dumps({"event": event, "data": data}, allow_nan=False).encode() + b"\n"
        with lock:
            view = memoryview(line)
            while view:
                view = view[pipe.write(view) or 0 :]

    return say


def _die_with_parent() -> None:
    """The parent holds the other end of the standard input; when that closes, nobody listens."""
    while sys.stdin.buffer.read(4096):
        pass
    os._exit(1)


def _limit(task: Mapping[str, Any]) -> None:
    """Ask the system to enforce the limits, besides the parent that watches."""
    n_cpus = os.cpu_count() or 1
    _set(resource.RLIMIT_AS, int(task["memory_bytes"]))
    # The soft limit is told apart from other kills (SIGXCPU) only when the hard one comes later.
    _set(resource.RLIMIT_CPU, int(task["seconds"] * n_cpus) + 5, slack=5)
    _set(resource.RLIMIT_FSIZE, int(task["output_bytes"]))
    _set(resource.RLIMIT_CORE, 0)


def _set(which: int, value: int, slack: int = 0) -> None:
    _, hard = resource.getrlimit(which)
    top = value + slack if hard == resource.RLIM_INFINITY else min(value + slack, hard)
    resource.setrlimit(which, (min(value, top), top))


def _memory_error(task: Mapping[str, Any]) -> CompileError:
    from app.jobs.child import memory_limit

    return memory_limit(task["memory_bytes"])


def _os_error(error: OSError, task: Mapping[str, Any]) -> CompileError:
    import errno

    from app.jobs.child import output_limit

    if error.errno == errno.ENOMEM:
        return _memory_error(task)
    if error.errno == errno.EFBIG:
        return output_limit(task["output_bytes"])
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return CompileError("E-UPLOAD-DISK", "the server's disk is full")
    traceback.print_exc()
    return CompileError("E-SERVER-BUG", f"{type(error).__name__}: {error.strerror}")


if __name__ == "__main__":
    from app.jobs.kinds import KINDS, warm_up

    warm_up()
    serve(KINDS)
