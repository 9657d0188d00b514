"""A child process for jobs, which fails in the way that the request's pipeline names."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from typing import Any

import compiler.ops  # noqa: F401
from app.jobs.fork_server_process import serve
from app.jobs.recorder import Recorder, empty_summary
from app.jobs.results import Results
from app.jobs.task import Task
from app.jobs.worker import Work
from compiler.errors import CompileError
from compiler.ir.text import parse_graph
from compiler.machine.machine import estimated
from compiler.targets.target import host
from compiler.trace import Event, Step

Trouble = Callable[[Results], None]

FOR_EVER_S = 600
"""A duration longer than any test waits."""
MB = 1024 * 1024
PIPE = 3
"""The descriptor of the pipe of messages."""

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


def work(task: Task, results: Results) -> None:
    """Report two stages, so that a partial result exists, and then fail."""
    request = task.request
    if request["pipeline"] == "exit_at_once":
        os._exit(3)
    recorder = Recorder(results, empty_summary(request), estimated(host()))
    results.say("phase", {"phase": "read", "words": "reading"})
    recorder.imported(BEFORE, 0.01)
    step = Step("drop_double_negation", "applied", "because", "b", ("a", "b"), ())
    recorder.passed(Event("simplify", BEFORE, AFTER, 0.02, 0.01, (step,), "words"))
    recorder.passed(Event("dead_code_elimination", AFTER, AFTER, 0.02, 0.01, (), "words"))
    if request["pipeline"] == "until_stopped":
        task.is_stopped.wait(FOR_EVER_S)
        return
    TROUBLE[request["pipeline"]](results)


def use_memory(_: Results) -> None:
    hoard = []
    while True:
        hoard.append(bytearray(16 * 1024 * 1024))


def part(name: str, n_bytes: Any) -> bytes:
    """Return the line that announces a part."""
    return json.dumps({"event": "part", "data": {"name": name, "bytes": n_bytes}}).encode() + b"\n"


def write_raw(*pieces: bytes) -> Trouble:
    """Return a failure that writes these bytes to the pipe of messages, whatever they are."""

    def write(_: Results) -> None:
        for piece in pieces:
            os.write(PIPE, piece)
        time.sleep(FOR_EVER_S)

    return write


def write_much(results: Results) -> None:
    while True:
        results.send("part", {"name": "much", "bytes": MB}, bytes(MB))


def write_many(results: Results) -> None:
    for number in itertools.count():
        results.send("part", {"name": f"many-{number}", "bytes": MB}, bytes(MB))


def end_within_a_part(_: Results) -> None:
    os.write(PIPE, part("half", 100) + b"x" * 50)
    os._exit(0)


def write_parts_in_turns(_: Results) -> None:
    """Begin a part within a part: the second line belongs to the content of the first part."""
    inner = part("inner", 4)
    os.write(PIPE, part("outer", 4 + len(inner)) + b"1234" + inner + b"5678")
    time.sleep(FOR_EVER_S)


def wait_after_a_part(results: Results) -> None:
    results.write("extra", {"seen": True})
    results.say("ready", {"part": "extra"})
    time.sleep(FOR_EVER_S)


def log_much(_: Results) -> None:
    for _number in range(200):
        os.write(2, b"a library complains\n" * 1000)


def compute_for_ever(_: Results) -> None:
    while True:
        pass


def leave_a_grandchild(results: Results) -> None:
    code, mark = "import time\nwhile True: time.sleep(1)", f"grandchild-{uuid.uuid4().hex}"
    subprocess.Popen([sys.executable, "-c", code, mark])
    results.write("grandchild", {"mark": mark})


def list_open_files(results: Results) -> None:
    results.write("files", {"files": sorted(os.listdir("/proc/self/fd"))})


def refuse(_: Results) -> None:
    raise CompileError("E-MODEL-CYCLE", "a and b depend on each other", notes=["<b>note</b>"])


def have_a_bug(_: Results) -> None:
    raise RuntimeError("an assumption did not hold")


TROUBLE: dict[str, Trouble] = {
    "none": lambda _: None,
    "sleep": lambda _: time.sleep(FOR_EVER_S),
    "compute_for_ever": compute_for_ever,
    "use_memory": use_memory,
    "write_much": write_much,
    "write_many": write_many,
    "crash": lambda _: os.kill(os.getpid(), signal.SIGSEGV),
    "exit": lambda _: os._exit(7),
    "leave_a_grandchild": leave_a_grandchild,
    "say_nonsense": write_raw(b"this is no JSON\n"),
    "say_no_number": write_raw(b'{"event": "round", "data": {"done": 1, "share": NaN}}\n'),
    "say_infinity": write_raw(b'{"event": "round", "data": {"done": 1, "share": 1e999}}\n'),
    "say_deeply": write_raw(b"[" * 100_000 + b"\n"),
    "say_the_end": write_raw(b'{"event": "finished", "data": {"seconds": 1, "n_stages": 1}}\n'),
    "say_other_fields": write_raw(b'{"event": "ready", "data": {"part": "x", "more": 1}}\n'),
    "say_a_list": write_raw(b'{"event": "ready", "data": ["part"]}\n'),
    "fail_oddly": write_raw(b'{"event": "error", "data": {"code": [], "where": {"line": "x"}}}\n'),
    "never_end_a_line": write_raw(*[b"x" * 64_000] * 20),
    "part_of_negative_size": write_raw(part("a", -1)),
    "part_of_true_size": write_raw(part("a", True)),
    "part_of_no_size": write_raw(part("a", None)),
    "part_of_huge_size": write_raw(part("a", 10**15)),
    "part_of_endless_size": write_raw(b'{"event": "part", "data": {"name": "a", "bytes": 1e9}}\n'),
    "part_elsewhere": write_raw(part("../job", 2) + b"{}"),
    "part_of_a_long_name": write_raw(part("a" * 200, 2) + b"{}"),
    "file_of_another_kind": write_raw(part("job.json", 2).replace(b'"part"', b'"file"') + b"{}"),
    "part_with_other_fields": write_raw(part("a", 2).replace(b'"name"', b'"folder": "/", "name"')),
    "end_within_a_part": end_within_a_part,
    "write_parts_in_turns": write_parts_in_turns,
    "wait_after_a_part": wait_after_a_part,
    "log_much": log_much,
    "list_open_files": list_open_files,
    "refuse": refuse,
    "have_a_bug": have_a_bug,
    "print": lambda _: print("a library prints something"),
}
KINDS: dict[str, Work] = {"compile": work, "inspect": work}


def read() -> None:
    """Read texts, and fail in the way that a text requests."""
    print("ready", flush=True)
    for line in sys.stdin:
        if "hang" in line:
            time.sleep(FOR_EVER_S)
        if "die" in line:
            os._exit(3)
        if "complain" in line:
            log_much(Results(lambda *_: None, 0))
        print('{"problems": []}', flush=True)


if __name__ == "__main__":
    serve(KINDS, read)
