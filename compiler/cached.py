"""`compile` with a disk cache: the program of a model compiled before is loaded, not recompiled.

This module imports little, so a new process runs a cached program within 0.1 s.
"""

from __future__ import annotations

import gc
import hashlib
import mmap
import os
import platform
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from compiler.cache.directory import kept_directory
from compiler.cache.store import GuardedStore
from compiler.targets.options import KernelSchedule
from compiler.targets.target import Target, host

if TYPE_CHECKING:
    from compiler.ir.graph import Graph
    from compiler.limits import Limits
    from compiler.machine.database import Tuned
    from compiler.options import Progress
    from compiler.passes.pipeline.pipeline import Line, Pipeline
    from compiler.runtime.program import Program
    from compiler.targets.options import Schedules
    from compiler.trace import Gate

SETTLED_SECONDS = 2.0
"""Minimum age in seconds of a file whose time stamp is trusted; a younger file may change again
within the same clock tick."""

NOTES_BYTES = 4 << 20
"""Maximum total size in bytes of the cached digests of model files."""

NOT_OF_THE_PROGRAM = {"tier", "limits"}
"""Options that are not part of the cache key; a request for tier 0 also accepts optimised code."""

COLLECT_AFTER = 500_000
"""Number of new objects between two garbage collections while a model is compiled."""


def compile(
    graph: Graph | str | PathLike[str] | bytes,
    pipeline: str | Pipeline | Sequence[Line] = "default",
    target: str | Target = "host",
    threads: int = 1,
    precision: str = "f32",
    inputs: Mapping[str, Sequence[int]] | None = None,
    trace: bool = True,
    progress: Progress | None = None,
    verify: bool = True,
    buckets: Mapping[str, Sequence[int]] | None = None,
    gate: Gate | None = None,
    schedules: Schedules | None = None,
    tier: int = 1,
    tuned: bool | str | PathLike[str] | Tuned = True,
    order: str = "best",
    memory_limit_bytes: int | None = None,
    spread: str = "loops",
    seconds: Mapping[str, float] | None = None,
    limits: Limits | None = None,
) -> Program:
    """Compile a graph, an ONNX file or its bytes to a program.

    `inputs` gives the shapes of inputs with open dimensions. If shapes are omitted, one program
    serves all sizes of the open dimensions. If a node requires known sizes, each set of shapes is
    compiled at its first run instead. The program's `notes` name this node. The first run with new
    elements of parameter inputs (axes, pads, counts) also compiles.
    `buckets` lists values of open dimensions that get specialised code, as in `{"N": [1, 8]}`.
    `precision` changes lines of the pipeline: docs/precision.md states the guarantee of each mode.
    `threads` is the number of threads of a run, at most 256; the results are bitwise independent of
    this number.
    `trace=False` discards the trace of the passes. `gate` is called before each rewrite and may
    prevent the rewrite.
    `schedules` maps kernel names to moves, or is a text as `emit("schedules")` prints it: see
    docs/schedules.md.
    `tier=0` returns a program sooner, with slower code. When optimised code is ready, it replaces
    the slower code, and the last bits of sums may change. `program.settle()` waits for the
    replacement.
    `tuned` selects a database of schedules tuned for this machine: the user's own (True), none
    (False), or a file. The program's `notes` give the number of kernels with a tuned schedule.
    `order` names the method that orders the launches (docs/operator-order.md): `given` keeps their
    order, `best` searches briefly for the lowest peak memory.
    `memory_limit_bytes` is the maximum arena size: values are recomputed to stay within the limit.
    `spread="branches"` assigns each kernel to one thread and branches of the graph to different
    threads, by a plan (docs/threads.md). `loops`, the default, divides each kernel's loops among
    the threads. The plan of branches uses `seconds`: the time of each kernel on one thread, keyed
    by a value that the kernel computes.
    `limits` bounds the time and the memory of this call, but not of runs (docs/limits.md).
    A program compiled earlier is loaded from disk if the model's bytes, the options, the compiler's
    code and the machine are unchanged. A loaded program runs without compilation. Access to its
    trace, or to other facts about the compilation, recompiles the model. A new program is written
    to disk in the background after the call returns. The program's `settle()` waits for the end of
    this write.
    Errors: the errors of reading the model; E-INPUT-* for `inputs`; E-PIPELINE-*, E-TARGET-NAME,
    E-SCHEDULE-* and E-LIMIT-*; E-OPTION-VALUE for values that are not supported.
    """
    # `locals` omits no parameter; all parameters but the model are fields of compiler/options.py.
    options = {name: value for name, value in locals().items() if name != "graph"}

    def again() -> Program:
        with _few_collections():
            from compiler import driver
            from compiler.options import Options

            return driver.compile(graph, Options(**options))

    with _few_collections():
        return _kept_or_made(again, graph, options)


def _kept_or_made(
    again: Callable[[], Program],
    graph: Graph | str | PathLike[str] | bytes,
    options: Mapping[str, Any],
) -> Program:
    key = _key(graph, {k: v for k, v in options.items() if k not in NOT_OF_THE_PROGRAM})
    if key is None:
        return again()
    from compiler.runtime import kept

    store = kept.ProgramStore(kept_directory("programs"))
    found = kept.load(store, key, again)
    if found is not None:
        return found  # type: ignore[return-value]
    made = again()
    image = kept.image_of(made) if options["tier"] == 1 else None
    if image is not None:
        made.keeping = store.put_beside(key, image)
    return made


_compiling: list[tuple[int, int, int]] = []
"""The garbage collector's original thresholds, stored once for each compilation in progress."""

_lock = Lock()


@contextmanager
def _few_collections() -> Generator[None]:
    """Collect garbage less often: most objects that a compilation creates stay alive."""
    with _lock:
        before = _compiling[0] if _compiling else gc.get_threshold()
        _compiling.append(before)
        if before[0]:  # 0: the user switched collection off
            gc.set_threshold(max(before[0], COLLECT_AFTER), *before[1:])
    try:
        yield
    finally:
        with _lock:
            _compiling.pop()
            if not _compiling:
                _make_old()
                gc.set_threshold(*before)


def _make_old() -> None:
    """Move all objects to the oldest generation, so that the next collection does not scan them."""
    if not gc.get_freeze_count():  # unfreeze would also release the user's frozen objects
        gc.freeze()
        gc.unfreeze()


def _key(graph: object, options: Mapping[str, Any]) -> str | None:
    """Return the cache key of a program; None for a model that has no stable identity."""
    directory = kept_directory("models")
    if directory is None or not isinstance(graph, str | bytes | PathLike):
        return None
    if not all(map(_is_plain, options.values())):
        return None
    try:
        content = _content(graph, directory)
    except OSError:
        return None  # the compiler then reads the file and reports the error
    asked = repr(sorted(options.items()))
    tuned = _tuned(options["tuned"])
    facts = (content, asked, repr(host()), _code(), platform.python_version(), tuned)
    return hashlib.sha256("\0".join(facts).encode()).hexdigest()


def _tuned(database: object) -> str:
    """Return the state of the database of tuned schedules; see machine/database.py."""
    directory = kept_directory("measured")
    own = None if directory is None else directory / "schedules.sqlite"
    path = Path(database) if isinstance(database, str) else own if database else None
    try:
        facts = path.stat() if path else None
    except OSError:
        facts = None
    return repr((facts.st_size, facts.st_mtime_ns) if facts else None)


def _is_plain(value: object) -> bool:
    """Return whether the printed form of this value determines the value."""
    if isinstance(value, Mapping):
        return all(_is_plain(k) and _is_plain(v) for k, v in value.items())  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))  # pyright: ignore[reportUnknownArgumentType]
    return value is None or isinstance(value, str | int | float | bool | Target | KernelSchedule)


def _content(model: str | PathLike[str] | bytes, directory: Path) -> str:
    """Return a digest of a model's bytes; an unchanged file's digest is cached."""
    if isinstance(model, bytes):
        return hashlib.sha256(model).hexdigest()
    path = Path(model).resolve()
    facts = path.stat()
    identity = (str(path), facts.st_size, facts.st_mtime_ns, facts.st_ino, facts.st_dev)
    notes = GuardedStore(directory, NOTES_BYTES)
    note = hashlib.sha256(repr(identity).encode()).hexdigest()
    known = notes.read(note)
    if known is not None:
        return known.decode("ascii")
    with path.open("rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as data:
        content = hashlib.sha256(data).hexdigest()
    if time.time() - facts.st_mtime > SETTLED_SECONDS:
        # Hashing the file again takes less time than waiting for the disk.
        notes.write(note, content.encode("ascii"), is_durable=False)
    return content


@cache
def _code() -> str:
    """Return an identifier that changes with each edit of this package's code."""
    import llvmlite
    import numpy as np

    files = sorted(_files(Path(__file__).parent))
    return repr((llvmlite.__version__, np.__version__, files))


def _files(folder: Path) -> Iterator[tuple[str, int, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir() and entry.name != "__pycache__":
                yield from _files(Path(entry.path))
            elif entry.name.endswith(".py"):
                facts = entry.stat()
                yield entry.path, facts.st_size, facts.st_mtime_ns
