"""`compile` for models that were compiled before: the program comes from disk, made only once.

This module imports next to nothing, so that a process that finds its program runs it within a
tenth of a second.
"""

from __future__ import annotations

import gc
import hashlib
import json
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

from compiler.targets.disk import kept_directory
from compiler.targets.target import Target, host

if TYPE_CHECKING:
    from compiler.ir.graph import Graph
    from compiler.runtime.program import Program

SETTLED_SECONDS = 2.0
"""A file changed less than this before it was read may change again in one tick of its clock."""

NOT_OF_THE_PROGRAM = {"tier", "limits"}
"""Options that change how a program is made; code of the last tier serves the first one, too."""

COLLECT_AFTER = 500_000
"""So many new objects are there before Python looks for garbage while a model is compiled."""


def compile(
    graph: Graph | str | PathLike[str] | bytes, *positional: Any, **options: Any
) -> Program:
    """Make a program of a graph, an ONNX file or its bytes, as `compiler.driver.compile` says.

    A program of a file or of bytes that was made before, with the same options, by the same code
    and for the same machine, is loaded from disk. It runs at once; asked for more than results, it
    is compiled again. A new program is written to disk after this has returned: `settle()` of the
    program waits for that.
    """

    def again() -> Program:
        with _few_collections():
            from compiler import driver

            return driver.compile(graph, *positional, **options)  # type: ignore[arg-type]

    with _few_collections():
        return _kept_or_made(again, graph, positional, options)


def _kept_or_made(
    again: Callable[[], Program],
    graph: Graph | str | PathLike[str] | bytes,
    positional: Sequence[Any],
    options: Mapping[str, Any],
) -> Program:
    key = _key(graph, positional, {k: v for k, v in options.items() if k not in NOT_OF_THE_PROGRAM})
    if key is None:
        return again()
    from compiler.runtime import kept

    store = kept.ProgramStore(kept_directory("programs"))
    found = kept.load(store, key, again)
    if found is not None:
        return found  # type: ignore[return-value]
    made = again()
    image = kept.image_of(made) if options.get("tier", 1) == 1 else None
    if image is not None:
        made.keeping = store.put_beside(key, image)
    return made


_compiling: list[tuple[int, int, int]] = []
"""For each compilation under way, what Python's collector was told before the first of them."""

_lock = Lock()


@contextmanager
def _few_collections() -> Generator[None]:
    """Python looks for cycles of garbage less often: what compiling makes is mostly kept."""
    with _lock:
        before = _compiling[0] if _compiling else gc.get_threshold()
        _compiling.append(before)
        if before[0]:  # else the user has switched it off
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
    """What is new counts as old from now on: Python would look through all of it at once."""
    if not gc.get_freeze_count():  # else what the user has frozen would thaw
        gc.freeze()
        gc.unfreeze()


def _key(graph: object, positional: Sequence[Any], options: Mapping[str, Any]) -> str | None:
    """What a program depends on, in short; None for what cannot be told apart from outside."""
    directory = kept_directory("models")
    if directory is None or not isinstance(graph, str | bytes | PathLike):
        return None
    if not all(map(_is_plain, (*positional, *options.values()))):
        return None
    try:
        content = _content(graph, directory)
    except OSError:
        return None  # reading it will say why
    asked = repr(positional), repr(sorted(options.items()))
    tuned = _tuned(options.get("tuned", True))
    facts = (content, *asked, repr(host()), _code(), platform.python_version(), tuned)
    return hashlib.sha256("\0".join(facts).encode()).hexdigest()


def _tuned(database: object) -> str:
    """Which state of a database of schedules a program is made with; see machine/database.py."""
    directory = kept_directory("measured")
    own = None if directory is None else directory / "schedules.sqlite"
    path = Path(database) if isinstance(database, str) else own if database else None
    try:
        facts = path.stat() if path else None
    except OSError:
        facts = None
    return repr((facts.st_size, facts.st_mtime_ns) if facts else None)


def _is_plain(value: object) -> bool:
    """Whether two values that print alike are alike."""
    if isinstance(value, Mapping):
        return all(_is_plain(k) and _is_plain(v) for k, v in value.items())  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))  # pyright: ignore[reportUnknownArgumentType]
    return value is None or isinstance(value, str | int | float | bool | Target)


def _content(model: str | PathLike[str] | bytes, directory: Path) -> str:
    """A digest of a model's bytes; that of a file that has not changed is known from last time."""
    if isinstance(model, bytes):
        return hashlib.sha256(model).hexdigest()
    path = Path(model).resolve()
    facts = path.stat()
    identity = (str(path), facts.st_size, facts.st_mtime_ns, facts.st_ino, facts.st_dev)
    note = directory / hashlib.sha256(repr(identity).encode()).hexdigest()
    try:
        known = json.loads(note.read_text())
        if known["identity"] == list(identity):
            return str(known["content"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    with path.open("rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as data:
        content = hashlib.sha256(data).hexdigest()
    if time.time() - facts.st_mtime > SETTLED_SECONDS:
        _write(note, json.dumps({"identity": identity, "content": content}))
    return content


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        own = path.with_name(f".new-{os.getpid()}-{path.name}")
        own.write_text(text)
        own.replace(path)
    except OSError:
        return


@cache
def _code() -> str:
    """What tells versions of this package apart, also while it is being changed."""
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
