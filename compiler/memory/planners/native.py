"""Functions over arrays as machine code where numba is installed, as they are where it is not.

numba takes a good part of a second to import, and machine code that was never made before some
seconds more: both wait until such a function is called. Time limits do not count what is made, for
that is once on a machine (`now`); setting up the environment makes it ahead of time (ahead.py).
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

LOADING_SECONDS = 0.7
"""About what it takes to import numba and to read machine code from disk."""

_called: list[Callable[..., Any]] = []
"""Functions that others call as machine code, and that numba does not know yet."""


class _Making:
    """What making machine code took in this process, in seconds, and who is told of it."""

    seconds = 0.0
    tell: Callable[[str], None] = staticmethod(lambda what: None)


def now() -> float:
    """Seconds of a clock that stands still while machine code is made: what limits are held by."""
    return time.monotonic() - _Making.seconds


def making_seconds() -> float:
    """What making machine code has taken in this process, without what was read from disk."""
    return _Making.seconds


@contextmanager
def telling(tell: Callable[[str], None]) -> Generator[None]:
    """Meanwhile, `tell` is called with what is being done whenever that takes long."""
    before, _Making.tell = _Making.tell, staticmethod(tell)
    try:
        yield
    finally:
        _Making.tell = staticmethod(before)


@cache
def jit() -> Any:
    """numba's compiler; None where it, or what it needs, is missing."""
    try:
        from numba import njit
    except (ImportError, OSError):  # OSError: a library of llvmlite that does not load
        return None
    return njit


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """The function, machine code where other machine code calls it."""
    _called.append(function)
    return function


class Kept(Generic[P, R]):
    """A function that is called as machine code; `interpreted` is the function as it stands.

    Both take the same steps. Machine code is kept on disk with all that it calls: beside the
    source, else in the user's folder for caches, else nowhere. Of all sources, numba watches the
    file of the function alone: a function that calls those of other files should close over
    `sources_digest`.
    """

    def __init__(self, function: Callable[P, R]) -> None:
        self.interpreted = function
        self._loaded: Callable[P, R] | None = None
        self._waited = 0.0

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """As machine code."""
        if self._loaded is None:
            self._loaded = _machine_code(self.interpreted, args)
        return self._loaded(*args, **kwargs)

    def soon(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """The same, interpreted until that took as long as loading machine code does.

        For what is called piece by piece, and mostly ends after a few of them.
        """
        if self._loaded or self._waited >= LOADING_SECONDS:
            return self(*args, **kwargs)
        begin = now()
        result = self.interpreted(*args, **kwargs)
        self._waited += now() - begin
        return result


kept = Kept


def _machine_code(function: Callable[P, R], args: tuple[Any, ...]) -> Callable[P, R]:
    """Machine code for such arguments: made now, or read where it is kept."""
    njit = jit()
    if njit is None:
        return function
    from numba.extending import register_jitable

    while _called:
        # Nobody but machine code calls these: wrappers for others would be made in vain.
        register_jitable(no_cpython_wrapper=True, no_cfunc_wrapper=True)(_called.pop())
    try:
        loaded = njit(cache=True)(function)
    except RuntimeError:  # no folder where machine code could be kept
        loaded = njit(function)
    begin = time.monotonic()
    _Making.tell("making machine code of a search, once on a machine")
    loaded.compile(tuple(map(loaded.typeof_pyval, args)))
    if sum(loaded.stats.cache_misses.values()):
        _Making.seconds += time.monotonic() - begin
    _Making.tell("searching")
    return loaded


def sources_digest(folder: Path) -> str:
    """A name for what the files of a folder, and this one, say now."""
    digest = hashlib.sha256()
    for path in (*sorted(folder.glob("*.py")), Path(__file__)):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
