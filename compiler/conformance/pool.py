"""Run cases in child processes: a crash affects only one case, and a new child is then started."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import field
from time import perf_counter

from compiler.conformance.cases import Case
from compiler.conformance.outcome import Outcome, crashed
from compiler.dataclass import dataclass

RUNNER = "compiler.conformance.outcome:outcome_of"
"""The function that a child applies to a `Case` to get its `Outcome`, as `module:function`."""

SECONDS_PER_CASE = 60.0

READY = b"ready"
"""The line that a child prints before it accepts cases."""


def run_cases(
    cases: Sequence[Case],
    jobs: int,
    *,
    seconds_per_case: float = SECONDS_PER_CASE,
    runner: str = RUNNER,
) -> Iterator[Outcome]:
    """Yield the outcomes of cases in order of completion, from `jobs` concurrent children."""
    waiting: queue.SimpleQueue[Case] = queue.SimpleQueue()
    for case in cases:
        waiting.put(case)
    done: queue.SimpleQueue[Outcome | BaseException] = queue.SimpleQueue()
    children = [_Child(runner, seconds_per_case) for _ in range(min(jobs, len(cases)))]
    threads = [
        threading.Thread(target=_serve, args=(child, waiting, done), daemon=True)
        for child in children
    ]
    for thread in threads:
        thread.start()
    try:
        for _ in cases:
            outcome = done.get()
            if isinstance(outcome, BaseException):
                raise outcome
            yield outcome
    finally:
        while not waiting.empty():  # the caller stopped iterating, so cancel the remaining cases
            waiting.get()
        for child in children:
            child.stop()
        for thread in threads:
            thread.join()


def _serve(
    child: _Child,
    waiting: queue.SimpleQueue[Case],
    done: queue.SimpleQueue[Outcome | BaseException],
) -> None:
    """Send cases to one child until no case is waiting."""
    try:
        while True:
            done.put(child.run(waiting.get_nowait()))
    except queue.Empty:
        return
    except BaseException as e:  # raised in the thread that waits for outcomes
        done.put(e)


@dataclass
class _Child:
    """A process that judges one case after another; if it dies, a new process replaces it.

    The child (child.py) reads a line `[suite, name]` for each case, and answers with the outcome as
    a line of JSON.
    """

    runner: str
    seconds: float
    process: subprocess.Popen[bytes] | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    is_stopped: bool = False

    def run(self, case: Case) -> Outcome:
        """Return the outcome of a case, even if the child dies."""
        process = self._living()
        start = perf_counter()
        overdue = threading.Event()

        def kill() -> None:
            overdue.set()
            process.kill()

        timer = threading.Timer(self.seconds, kill)
        timer.start()
        answer = _ask(process, json.dumps([case.suite, case.name]))
        timer.cancel()
        if overdue.is_set():
            process.wait()  # the next case must not be sent to a dying child
        if answer.endswith(b"\n"):
            return Outcome.from_json(json.loads(answer))
        taken = perf_counter() - start
        ended = process.wait()
        if overdue.is_set():
            return crashed(case, f"took longer than {self.seconds:g} s", taken)
        return crashed(case, _last_words(ended), taken)

    def _living(self) -> subprocess.Popen[bytes]:
        with self.lock:
            assert not self.is_stopped, "a stopped pool runs no cases"
            if self.process is None or self.process.poll() is not None:
                _close(self.process)
                self.process = _start(self.runner)
            return self.process

    def stop(self) -> None:
        """Stop the child, even in the middle of a case."""
        with self.lock:
            self.is_stopped = True
            if self.process is not None:
                self.process.kill()
                self.process.wait()
                _close(self.process)


def _start(runner: str) -> subprocess.Popen[bytes]:
    """Start a child that ignores Ctrl-C and has the module search path of this process."""
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "compiler.conformance.child", runner],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        start_new_session=True,
    )
    assert process.stdout is not None, "the child was started with a pipe"
    # Wait for the imports: no case must be charged with their time or their failure.
    if process.stdout.readline().strip() != READY:
        process.wait()
        _close(process)
        raise RuntimeError("a child process could not be started: see its standard error")
    return process


def _ask(process: subprocess.Popen[bytes], line: str) -> bytes:
    """Send one line to the child and return its answer, which is incomplete if the child dies."""
    assert process.stdin is not None, "the child was started with a pipe"
    assert process.stdout is not None, "the child was started with a pipe"
    try:
        process.stdin.write(line.encode() + b"\n")
        process.stdin.flush()
        return process.stdout.readline()
    except (BrokenPipeError, ValueError):
        return b""


def _close(process: subprocess.Popen[bytes] | None) -> None:
    for pipe in (process.stdin, process.stdout) if process is not None else ():
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


def _last_words(code: int) -> str:
    if code >= 0:
        return f"the process ended with exit code {code}"
    try:
        return f"the process was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"the process was ended by signal {-code}"
