"""Functions over arrays as machine code where numba is installed, as they are where it is not.

Importing numba takes a good part of a second: only what is imported late imports this module.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def _jit() -> Any:
    """numba's compiler; None where it, or what it needs, is missing."""
    try:
        from numba import njit
    except (ImportError, OSError):  # OSError: a library of llvmlite that does not load
        return None
    return njit


jit = _jit()


def compiled(function: F) -> F:
    """The function as machine code that other compiled functions can call, and only they."""
    if jit is None:
        return function
    return jit(no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)


def kept(function: F) -> F:
    """The function as machine code that is kept on disk with all that it calls.

    Where it is kept: beside the source, else in the user's folder for caches, else nowhere. Of all
    sources, numba watches the file of the function alone: a function that calls those of other
    files should close over `sources_digest`.
    """
    if jit is None:
        return function
    try:
        return jit(cache=True)(function)
    except RuntimeError:  # no folder where machine code could be kept
        return jit(function)


def sources_digest(folder: Path) -> str:
    """A name for what the files of a folder, and this one, say now."""
    digest = hashlib.sha256()
    for path in (*sorted(folder.glob("*.py")), Path(__file__)):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
