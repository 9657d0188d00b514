"""Arrays between two inaccessible pages: an access outside an array ends the process."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

_NO_ACCESS = 0
_libc = ctypes.CDLL(None, use_errno=True)


def at_end(a: Array, alignment: int = 1) -> Array:
    """Return a copy whose last byte is followed by a guard page.

    With an alignment in bytes, the gap may be up to this many bytes minus one.
    """
    inner = _guarded_bytes(a.nbytes)
    offset = (len(inner) - a.nbytes) // alignment * alignment
    return _copied(a, inner, offset)


def at_start(a: Array) -> Array:
    """Return a copy that begins directly after a guard page."""
    return _copied(a, _guarded_bytes(a.nbytes), 0)


def _copied(a: Array, memory: np.ndarray[Any, np.dtype[np.uint8]], offset: int) -> Array:
    made = memory[offset : offset + a.nbytes].view(a.dtype).reshape(a.shape)
    made[...] = a
    return made


def _guarded_bytes(nbytes: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return entire pages for this many bytes, between two guard pages."""
    page = mmap.PAGESIZE
    n_pages = max(-(-nbytes // page), 1)
    # The array keeps the mapping, and so the guard pages, alive.
    memory = np.frombuffer(mmap.mmap(-1, (n_pages + 2) * page), np.uint8)
    for start in (0, (n_pages + 1) * page):
        address = ctypes.c_void_p(memory.ctypes.data + start)
        if _libc.mprotect(address, ctypes.c_size_t(page), _NO_ACCESS):
            raise OSError(ctypes.get_errno(), "a page cannot be protected")
    return memory[page : (n_pages + 1) * page]
