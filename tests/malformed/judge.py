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
from compiler.runtime.assumed import assumed_shapes
from compiler.runtime.inputs import random_inputs
from tests.malformed.hostile import Hostile

SECONDS, BYTES = 10.0, 1 << 30
"""Limits of an answer; the bytes are in addition to the file."""

ASKED = 0.7
"""The share of both limits that the compiler receives, because it checks them only between
steps."""

KILLED_AFTER_SECONDS = 120.0
LARGEST_INPUT_BYTES = 64 << 20


@dataclass(frozen=True)
class Verdict:
    """The result for a file: `ran`, `compiled`, an error code, or a failure. Units: seconds, bytes.

    `seconds` is the smaller of wall-clock and processor time, because the machine may have other
    load.
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
        """Return whether the file ran or raised its error, within the limits."""
        answered = self.outcome in ("ran", "compiled") or self.outcome.startswith("E-")
        return answered and self.seconds <= SECONDS and self.memory_bytes <= BYTES


def judged(file: Hostile, default_limits: bool = False) -> Verdict:
    """Return the verdict on a file; with `default_limits` the compiler uses its default limits."""
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
    """Return the outcome of loading, compiling and running, all within one time limit."""
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
    """Return the answer of a forked process, and its time and memory."""
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
    """Import the modules of a compilation, so that their memory is not counted for children."""
    for module in pkgutil.walk_packages(compiler.__path__, "compiler."):
        if "__main__" not in module.name:
            importlib.import_module(module.name)
    os.environ["COMPILARIUM_CACHE"] = ""
    graph = compiler.parse("graph g(x: f32[2]) {\n  y: f32[2] = exp(x)\n  return y\n}")
    compiler.load(compiler.to_onnx(graph))
