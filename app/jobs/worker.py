"""The child process: it runs one task, and ends when the server ends.

The process enters a sandbox with the limits of the task before it reads the task: see inside.py.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from app.disk import full_disk
from app.jobs import student_code, worker_slot
from app.jobs.frames import frame
from app.jobs.inside import SCRATCH_BYTES
from app.jobs.limits import Limits, memory_limit, scratch_limit
from app.jobs.machine_facts import take_facts
from app.jobs.results import Results, Send
from app.jobs.task import Task
from compiler.errors import CompileError
from compiler.limits import Limits as CallLimits
from compiler.limits import limited
from sandbox.seal import SCRATCH

Work = Callable[[Task, Results], None]
"""The function of a kind of job."""


def work_once(kinds: Mapping[str, Work]) -> NoReturn:
    """Run the task from the standard input, then end the process."""
    send = _take_standard_output()
    task = _read_task()
    limits = task.limits
    worker_slot.connect()
    threading.Thread(target=_listen_to_parent, args=(task,), daemon=True).start()
    take_facts(task)
    results = Results(send, limits.output_bytes)
    say = results.say
    # The parent kills jobs that exceed limits; the compiler refuses such work in advance.
    try:
        with limited(CallLimits(seconds=limits.seconds, bytes=int(limits.memory_bytes))):
            _work(kinds[task.request["kind"]], task, results)
    except CompileError as e:
        say("error", e.to_json())
    except OSError as e:
        say("error", _os_error(e, limits).to_json())
    except Exception as e:
        traceback.print_exc()
        message = f"the compiler failed on this model: {type(e).__name__}: {str(e)[:500]}"
        say("error", CompileError("E-SERVER-BUG", message).to_json())
    else:
        say("done", {})
    sys.stderr.flush()
    os._exit(0)  # skip the slow teardown of the interpreter


def _read_task() -> Task:
    """Read the task; end the process if there is none. Messages before the task are ignored."""
    for line in iter(sys.stdin.buffer.readline, b""):
        message = json.loads(line)
        if "request" in message:
            return Task.from_json(message)
    os._exit(0)


def _work(work: Work, task: Task, results: Results) -> None:
    try:
        work(task, results)
    except MemoryError:
        raise memory_limit(task.limits.memory_bytes) from None


def _take_standard_output() -> Send:
    """Return a function that writes messages, and redirect other output to the log."""
    pipe = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    lock = threading.Lock()

    def send(event: str, data: Mapping[str, Any], body: bytes) -> None:
        line = frame(event, data)
        with lock:  # the body directly follows its line
            for piece in (line + body,) if len(body) < _JOINED_BYTES else (line, body):
                view = memoryview(piece)
                while view:
                    view = view[pipe.write(view) or 0 :]

    return send


_JOINED_BYTES = 64 * 1024
"""Shorter bodies are written together with their line."""


def _listen_to_parent(task: Task) -> None:
    """Handle the parent's messages; end the process when the parent closes the standard input."""
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if message.get("stop"):
            task.is_stopped.set()
        worker_slot.heard(message)
        student_code.heard(message)
    os._exit(1)


def _os_error(error: OSError, limits: Limits) -> CompileError:
    if error.errno == errno.ENOMEM:
        return memory_limit(limits.memory_bytes)
    is_inside = tempfile.gettempdir() == SCRATCH
    if error.errno == errno.EFBIG or (is_inside and error.errno == errno.ENOSPC):
        return scratch_limit(SCRATCH_BYTES)
    if full := full_disk(error):  # the disk of temporary files
        return full
    traceback.print_exc()
    return CompileError("E-SERVER-BUG", f"{type(error).__name__}: {error.strerror}")
