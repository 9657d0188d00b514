"""The child process: it runs one job under limits, and ends when the server ends."""

from __future__ import annotations

import json
import os
import resource
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from app.jobs import worker_slot
from compiler.errors import CompileError
from compiler.limits import Limits, limited

Say = Callable[[str, Mapping[str, Any]], None]
Work = Callable[[Mapping[str, Any], Path, Mapping[str, Any], Say], None]
"""The function of a kind of job. Its arguments are (request, folder, task, say), and it stores its
results in the folder."""


def work_once(kinds: Mapping[str, Work]) -> NoReturn:
    """Run the job from the standard input, then end the process."""
    say = _take_standard_output()
    line = sys.stdin.buffer.readline()
    if not line:
        os._exit(0)
    task = json.loads(line)
    worker_slot.connect()
    threading.Thread(target=_listen_to_parent, daemon=True).start()
    _limit(task)
    folder = Path(task["folder"])
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    # The parent kills jobs that exceed limits; the compiler refuses such work in advance.
    limits = Limits(seconds=task["seconds"], bytes=int(task["memory_bytes"]))
    try:
        with limited(limits):
            _work(kinds[request["kind"]], request, folder, task, say)
    except CompileError as e:
        say("error", e.to_json())
    except OSError as e:
        say("error", _os_error(e, task).to_json())
    except Exception as e:
        traceback.print_exc()
        message = f"the compiler failed on this model: {type(e).__name__}: {str(e)[:500]}"
        say("error", CompileError("E-SERVER-BUG", message).to_json())
    else:
        say("done", {})
    sys.stderr.flush()
    os._exit(0)  # skip the slow teardown of the interpreter


def _work(
    work: Work, request: Mapping[str, Any], folder: Path, task: Mapping[str, Any], say: Say
) -> None:
    try:
        work(request, folder, task, say)
    except MemoryError:
        raise _memory_error(task) from None


def _take_standard_output() -> Say:
    """Return a function that writes messages, and redirect other output to the log."""
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


def _listen_to_parent() -> None:
    """Handle the parent's messages; end the process when the parent closes the standard input."""
    for message in sys.stdin.buffer:
        worker_slot.heard(json.loads(message))
    os._exit(1)


def _limit(task: Mapping[str, Any]) -> None:
    """Set the job's limits in the operating system, in addition to the parent's monitoring."""
    n_cpus = os.cpu_count() or 1
    _set(resource.RLIMIT_AS, int(task["memory_bytes"]))
    # SIGXCPU identifies the soft limit, so the hard limit must come later.
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
