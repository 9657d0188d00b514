"""Tests of the thread pool: every share runs exactly once, with any number of workers."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from compiler.codegen.jit import Library
from compiler.codegen.threads.pool_text import SHARE_DECLARATION
from compiler.codegen.threads.thread_pool import thread_pool
from compiler.targets.target import host
from tests.platforms import needs_own_threads

pytestmark = needs_own_threads

MODULE = f"""
target triple = "{host().triple}"
{SHARE_DECLARATION}
; A long share: it adds its number to its place a thousand times.
define internal void @count(ptr %data, i64 %number, i64 %shares) {{
entry:
  %at = getelementptr i64, ptr %data, i64 %number
  br label %again
again:
  %i = phi i64 [0, %entry], [%next, %again]
  %old = load volatile i64, ptr %at
  %new = add i64 %old, %shares
  store volatile i64 %new, ptr %at
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 1000
  br i1 %more, label %again, label %leave
leave:
  ret void
}}
define void @counted(ptr %data, i64 %shares, i64 %threads, i64 %steps) {{
  call void @"compilarium.share"(ptr @count, ptr %data, i64 %shares, i64 %threads, i64 %steps)
  ret void
}}
"""


KIND = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 3)


def counted(shares: int, threads: int, steps: int = 1 << 40) -> list[int]:
    """Return the numbers that the shares wrote, each to a separate element."""
    library = Library.compile(MODULE)
    places = np.zeros(shares, np.int64)
    KIND(library.address("counted"))(places.ctypes.data, shares, threads, steps)
    return places.tolist()


@pytest.fixture
def fresh() -> None:
    """Reset the pool: without workers, and without statistics on the machine's load."""
    thread_pool(Library.compile).let_go()
    thread_pool(Library.compile).begin()


def n_threads() -> int:
    return len(list(Path("/proc/self/task").iterdir()))


@pytest.mark.parametrize(("shares", "threads"), [(1, 2), (2, 2), (8, 2), (3, 5), (7, 3), (600, 31)])
def test_every_share_is_done_once(shares: int, threads: int):
    assert counted(shares, threads) == [1000 * shares] * shares


@pytest.mark.usefixtures("fresh")
def test_small_work_is_done_without_those_who_sleep():
    before = n_threads()
    assert counted(4, 2, steps=1) == [4000] * 4
    assert n_threads() == before
    assert counted(4, 2) == [4000] * 4
    assert n_threads() == before + 1


def test_many_callers_share_the_helpers():
    wrong: list[int] = []

    def run(number: int) -> None:
        for iteration in range(30):
            shares = 1 + (number + iteration) % 9
            if counted(shares, 2 + iteration % 3) != [1000 * shares] * shares:
                wrong.append(number)

    callers = [threading.Thread(target=run, args=(n,)) for n in range(5)]
    for t in callers:
        t.start()
    for t in callers:
        t.join()
    assert not wrong


def test_helpers_leave_and_come_again():
    assert counted(4, 4) == [4000] * 4
    for _ in range(3):
        thread_pool(Library.compile).let_go()
        assert counted(4, 4) == [4000] * 4


@pytest.mark.usefixtures("fresh")
def test_signals_are_left_to_the_threads_of_python():
    assert counted(4, 2) == [4000] * 4
    blocked = [
        next(line for line in text.splitlines() if line.startswith("SigBlk"))
        for t in Path("/proc/self/task").iterdir()
        if int(t.name) != os.getpid() and (text := (t / "status").read_text())
    ]
    usual = 1 << 1  # SIGINT
    assert any(int(line.split()[1], 16) & usual for line in blocked)


PROGRAM = """
import resource, sys
import numpy as np
import compiler
graph = compiler.parse(
    "graph g(x: f32[200,150], w: f32[150,170]) {\\n"
    "  y: f32[200,170] = matmul(x, w)\\n  return y\\n}"
)
one, many = compiler.compile(graph), compiler.compile(graph, threads=4)
x = np.random.default_rng(0).normal(size=(200, 150)).astype(np.float32)
w = np.random.default_rng(1).normal(size=(150, 170)).astype(np.float32)
def run(program):
    return program.run({"x": x, "w": w})["y"]
expected = run(one)
"""


def in_a_process(text: str) -> int:
    command = [sys.executable, "-c", PROGRAM + text]
    return subprocess.run(command, timeout=120, check=False).returncode


def test_a_process_that_may_not_start_threads_runs_on_one():
    alone = """
resource.setrlimit(resource.RLIMIT_AS, (1, resource.RLIM_INFINITY))
found = [run(many) for _ in range(3)]
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
sys.exit(any((y != expected).any() for y in found))
"""
    assert in_a_process(alone) == 0


def test_a_process_ends_while_helpers_look_for_work():
    assert in_a_process("sys.exit(any((run(many) != expected).any() for _ in range(50)))") == 0


def test_an_object_brings_its_thread_pool():
    alone = """
from llvmlite import binding as llvm
import os
from compiler.codegen.threads.pool_text import with_thread_pool
from compiler.codegen.jit import object_code
from compiler.targets.target import host
from tests.compiler.codegen.threads.test_thread_pool import KIND, MODULE
code = object_code(with_thread_pool(MODULE, host()), host())
engine = llvm.create_lljit_compiler()
builder = llvm.JITLibraryBuilder().add_current_process().add_object_img(code)
library = builder.export_symbol("counted").link(engine, "alone")
places = np.zeros(500, np.int64)
function = KIND(library["counted"])
for _ in range(100):
    function(places.ctypes.data, 500, 3, 1)
os._exit(places.tolist() != [500 * 1000 * 100] * 500)
"""
    assert in_a_process(alone) == 0
