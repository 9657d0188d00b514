"""A child process for jobs, which fails in the way that the request's pipeline names."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import compiler.ops  # noqa: F401
from app.jobs.fork_server_process import serve
from app.jobs.parts import Parts
from app.jobs.recorder import Recorder, empty_summary
from app.jobs.worker import Say, Work
from compiler.errors import CompileError
from compiler.ir.text import parse_graph
from compiler.trace import Event, Step

FOR_EVER_S = 600
"""A duration longer than any test waits."""

BEFORE = parse_graph("""
graph g(x: f32[2,3]) {
  a: f32[2,3] = neg(x)
  b: f32[2,3] = neg(a)
  c: f32[2,3] = relu(b)
  return y=c
}""")
AFTER = parse_graph("""
graph g(x: f32[2,3]) {
  c: f32[2,3] = relu(x) <- a, b, c
  return y=c
}""")


def work(request: Mapping[str, Any], folder: Path, task: Mapping[str, Any], say: Say) -> None:
    """Report two stages, so that a partial result exists, and then fail."""
    if request["pipeline"] == "exit_at_once":
        os._exit(3)
    recorder = Recorder(Parts(folder), say, empty_summary(request))
    say("phase", {"phase": "read", "words": "reading"})
    recorder.imported(BEFORE, 0.01)
    step = Step("drop_double_negation", "applied", "because", "b", ("a", "b"), ())
    recorder.passed(Event("simplify", BEFORE, AFTER, 0.02, 0.01, (step,), "words"))
    recorder.passed(Event("dead_code_elimination", AFTER, AFTER, 0.02, 0.01, (), "words"))
    TROUBLE[request["pipeline"]](folder)


def use_memory(_: Path) -> None:
    hoard = []
    while True:
        hoard.append(bytearray(16 * 1024 * 1024))


def write_much(folder: Path) -> None:
    with (folder / "much").open("wb") as file:
        while True:
            file.write(bytes(1024 * 1024))
            time.sleep(0.001)


def write_many(folder: Path) -> None:
    number = 0
    while True:
        (folder / f"many-{number}").write_bytes(bytes(1024 * 1024))
        number += 1
        time.sleep(0.005)


def compute_for_ever(_: Path) -> None:
    while True:
        pass


def leave_a_grandchild(folder: Path) -> None:
    code = "import time\nwhile True: time.sleep(1)"
    grandchild = subprocess.Popen([sys.executable, "-c", code])
    (folder / "grandchild").write_text(str(grandchild.pid))


def say_nonsense(_: Path) -> None:
    for fd in range(3, 16):
        try:
            os.write(fd, b"this is no JSON\n")
        except OSError:
            continue
    time.sleep(FOR_EVER_S)


def list_open_files(folder: Path) -> None:
    (folder / "files").write_text(" ".join(sorted(os.listdir("/proc/self/fd"))))


def refuse(_: Path) -> None:
    raise CompileError("E-MODEL-CYCLE", "a and b depend on each other", notes=["<b>note</b>"])


def have_a_bug(_: Path) -> None:
    raise RuntimeError("an assumption did not hold")


TROUBLE = {
    "none": lambda folder: None,
    "sleep": lambda folder: time.sleep(FOR_EVER_S),
    "compute_for_ever": compute_for_ever,
    "use_memory": use_memory,
    "write_much": write_much,
    "write_many": write_many,
    "crash": lambda folder: os.kill(os.getpid(), signal.SIGSEGV),
    "exit": lambda folder: os._exit(7),
    "leave_a_grandchild": leave_a_grandchild,
    "say_nonsense": say_nonsense,
    "list_open_files": list_open_files,
    "refuse": refuse,
    "have_a_bug": have_a_bug,
    "print": lambda folder: print("a library prints something"),
}
KINDS: dict[str, Work] = {"compile": work, "inspect": work}

if __name__ == "__main__":
    serve(KINDS)
