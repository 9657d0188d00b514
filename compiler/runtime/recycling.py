"""Large memory used again: fresh pages cost more to get and to clear than results to compute.

The system clears every page that it hands out, and takes large arrays back as soon as they are
dropped. A program that is run again and again would wait for its results' pages in every run.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from threading import RLock

import numpy as np

from compiler.ir.constant import Array

LEAST_BYTES = 1 << 20
"""Smaller memory comes back from the C library's own lists."""

MOST_BYTES = 256 << 20
"""This much is kept for later at most."""


class Recycled:
    """Blocks of memory by their size, kept when the last array in them is dropped."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.kept: list[Array] = []
        """Free blocks, the one that has waited longest first."""
        self._most_bytes = most_bytes
        self._lock = RLock()

    def bytes(self, nbytes: int, fresh: Callable[[int], Array]) -> Array:
        """Uninitialised bytes: memory of this very size that is free, else what `fresh` makes."""
        raw = self._take(nbytes)
        if raw is None:
            raw = fresh(nbytes)
        # An array of its own over the same bytes: views hold on to it, and it tells when it goes.
        memory = (ctypes.c_ubyte * nbytes).from_address(raw.ctypes.data)
        lent = np.frombuffer(memoryview(memory), np.uint8)
        weakref.finalize(lent, self._give, raw).atexit = False
        return lent

    def _take(self, nbytes: int) -> Array | None:
        with self._lock:
            found = next((i for i, raw in enumerate(self.kept) if raw.nbytes == nbytes), None)
            return None if found is None else self.kept.pop(found)

    def _give(self, raw: Array) -> None:
        # An array may be dropped at any moment, even while this thread holds the lock.
        with self._lock:
            self.kept.append(raw)
            while sum(r.nbytes for r in self.kept) > self._most_bytes:
                del self.kept[0]
