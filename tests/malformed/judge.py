"""A hostile file in a child process: loaded, compiled and run, with a time limit."""

from __future__ import annotations

import importlib
import math
import os
import pickle
import pkgutil
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import compiler
from compiler import CompileError, Limits
from compiler.ir.types import TensorType
from compiler.runtime.inputs import assumed_shapes, random_inputs
from tests.malformed.hostile import Hostile

SECONDS, BYTES = 10.0, 1 << 30
"""What an answer may take beyond the bytes of its file."""

ASKED = 0.7
"""The share of both that the compiler is told: its checks stand between steps, not inside them."""

KILLED_AFTER_SECONDS = 120.0
LARGEST_INPUT_BYTES = 64 << 20


@dataclass(frozen=True)
class Verdict:
    """What came of a file: `ran`, `compiled`, a code, or what went wrong. Units: seconds, bytes.

    The time is that of the processor where that is less: the machine may be busy with other work.
    """

    family: str
    name: str
    file_bytes: int
    outcome: str
    words: str
    seconds: float
    memory_bytes: int

    @property
    def is_good(self) -> bool:
        """Whether the file ran, or got its error, within the limits."""
        answered = self.outcome in ("ran", "compiled") or self.outcome.startswith("E-")
        return answered and self.seconds <= SECONDS and self.memory_bytes <= BYTES


def judged(file: Hostile, default_limits: bool = False) -> Verdict:
    """The verdict on a file; `default_limits` gives the compiler no limits of ours."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        _in_child(lambda: path.write_bytes(file.make()), Path(folder) / "made")
        size = path.stat().st_size
        base = _resident_bytes()
        start = time.monotonic()
        said, usage = _in_child(lambda: outcome(path, default_limits), Path(folder) / "said")
        wall = time.monotonic() - start
    found, words = said
    seconds = min(wall, usage.ru_utime + usage.ru_stime) if found != "no answer" else wall
    memory = max(usage.ru_maxrss * 1024 - base - size, 0)
    return Verdict(file.family, file.name, size, found, words, seconds, memory)


def outcome(path: Path, default_limits: bool = False) -> tuple[str, str]:
    """What loading, compiling and running gives, all three within one time limit."""
    end = time.monotonic() + ASKED * SECONDS

    def limits() -> Limits | None:
        left = max(end - time.monotonic(), 0.01)
        return None if default_limits else Limits(seconds=left, bytes=int(ASKED * BYTES))

    try:
        graph = compiler.load(path, limits() or Limits())
        program = compiler.compile(graph, limits=limits())
        shapes = assumed_shapes(graph)
        asked = sum(_input_bytes(v.type, shapes.get(v.name)) for v in graph.inputs)
        if asked > LARGEST_INPUT_BYTES:
            return "compiled", f"its inputs would take {asked:,} bytes"
        program.run(random_inputs(graph, 1, shapes), limits=limits())
    except CompileError as e:
        return e.code, f"{e.message}"[:300]
    except Exception as e:
        import traceback

        place = traceback.extract_tb(e.__traceback__)[-1]
        return f"BUG {type(e).__name__}", f"{e} at {place.filename}:{place.lineno}"[-300:]
    return "ran", ""


def _input_bytes(t: Any, shape: tuple[int, ...] | None) -> int:
    if not isinstance(t, TensorType) or t.shape is None:
        return 0
    return math.prod(shape or [d for d in t.shape if isinstance(d, int)]) * max(t.dtype.nbytes, 8)


def _in_child(work: Callable[[], Any], answer: Path) -> tuple[Any, resource.struct_rusage]:
    """What a forked process answers, and what it took."""
    pid = os.fork()
    if pid == 0:
        _be_child(work, answer)
    end = time.monotonic() + KILLED_AFTER_SECONDS
    while True:
        done, status, usage = os.wait4(pid, os.WNOHANG)
        if done:
            break
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
            os.wait4(pid, 0)
            return ("no answer", f"none after {KILLED_AFTER_SECONDS:g} s"), usage
        time.sleep(0.005)
    if status:
        return ("BUG crash", f"the process ended with status {status}"), usage
    return pickle.loads(answer.read_bytes()), usage


def _be_child(work: Callable[[], Any], answer: Path) -> NoReturn:
    with suppress(OSError), open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), 1)
        if "-v" not in sys.argv:
            os.dup2(nothing.fileno(), 2)
    try:
        answer.write_bytes(pickle.dumps(work()))
    except BaseException:
        os._exit(3)
    os._exit(0)


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def warm_up() -> None:
    """Import what a compilation needs, so that children have it and it counts for none of them."""
    for module in pkgutil.walk_packages(compiler.__path__, "compiler."):
        if "__main__" not in module.name:
            importlib.import_module(module.name)
    os.environ["COMPILARIUM_CACHE"] = ""
    graph = compiler.parse("graph g(x: f32[2]) {\n  y: f32[2] = exp(x)\n  return y\n}")
    compiler.load(compiler.to_onnx(graph))
