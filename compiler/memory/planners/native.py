"""Array functions compiled by numba if it is installed, otherwise interpreted.

Importing numba takes most of a second, and the first compilations take some more seconds. Both are
deferred to the first call. Time limits use `now`, which excludes compilation time, because
compilations occur only once per machine. The setup of the environment compiles the functions ahead
of time (ahead.py).
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar

from compiler.memory.planners.native_cache import keep_on_disk

P = ParamSpec("P")
R = TypeVar("R")

LOADING_SECONDS = 0.7
"""Approximate time of importing numba and loading machine code from disk."""

_called: list[Callable[..., Any]] = []
"""Functions called by compiled functions, until they are registered with numba."""


class _Making:
    """The time spent compiling in this process, in seconds, and a callback for progress."""

    seconds = 0.0
    tell: Callable[[str], None] = staticmethod(lambda what: None)


def now() -> float:
    """Return the time in seconds for time limits, without the time spent compiling."""
    return time.monotonic() - _Making.seconds


def making_seconds() -> float:
    """Return the seconds spent compiling in this process, without loading from disk."""
    return _Making.seconds


@contextmanager
def telling(tell: Callable[[str], None]) -> Generator[None]:
    """Report long compilations to `tell` inside a `with` statement."""
    before, _Making.tell = _Making.tell, staticmethod(tell)
    try:
        yield
    finally:
        _Making.tell = staticmethod(before)


@cache
def jit() -> Any:
    """Return numba's compiler; None if numba or a dependency is missing."""
    try:
        from numba import njit
    except (ImportError, OSError):  # OSError: llvmlite's library fails to load
        return None
    return njit


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Mark a function that compiled code calls: it is compiled together with its callers."""
    _called.append(function)
    return function


class Kept(Generic[P, R]):
    """A function that runs compiled; `interpreted` is the uncompiled Python function.

    Compiled and interpreted code give the same results. Machine code, including callees, is cached
    on disk: next to the source if possible, else in the user's cache folder (native_cache.py). If
    neither folder is writable, the code is not cached. numba compiles again only if the function's
    own file changes. So a function that calls functions of other files should close over
    `sources_digest`.
    """

    def __init__(self, function: Callable[P, R]) -> None:
        self.interpreted = function
        self._loaded: Callable[P, R] | None = None
        self._waited = 0.0

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the compiled function."""
        if self._loaded is None:
            self._loaded = _machine_code(self.interpreted, args)
        return self._loaded(*args, **kwargs)

    def soon(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Interpret the function until its calls have taken `LOADING_SECONDS`, then compile it.

        Late compilation suits functions whose calls usually take less time than loading numba.
        """
        if self._loaded or self._waited >= LOADING_SECONDS:
            return self(*args, **kwargs)
        begin = now()
        result = self.interpreted(*args, **kwargs)
        self._waited += now() - begin
        return result


kept = Kept


def _machine_code(function: Callable[P, R], args: tuple[Any, ...]) -> Callable[P, R]:
    """Return machine code for arguments of these types: compiled now, or loaded from the cache."""
    njit = jit()
    if njit is None:
        return function
    from numba.extending import register_jitable

    while _called:
        # Only compiled code calls these functions, so they need no wrappers for Python or C.
        register_jitable(no_cpython_wrapper=True, no_cfunc_wrapper=True)(_called.pop())
    loaded = njit(function)
    keep_on_disk(loaded)
    begin = time.monotonic()
    _Making.tell("compiling a search, once per machine")
    loaded.compile(tuple(map(loaded.typeof_pyval, args)))
    if sum(loaded.stats.cache_misses.values()):
        _Making.seconds += time.monotonic() - begin
    _Making.tell("searching")
    return loaded


def sources_digest(folder: Path) -> str:
    """Return a digest of the files of a folder, and of this file."""
    digest = hashlib.sha256()
    for path in (*sorted(folder.glob("*.py")), Path(__file__)):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
