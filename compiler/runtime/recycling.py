"""Reuse of large memory blocks: mapping and clearing pages can cost more than computation.

The operating system clears each page that it maps, and the allocator unmaps large arrays as soon as
they are freed. Without reuse, each run of a program would wait for new pages for its results.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from threading import RLock

import numpy as np

from compiler.ir.constant import Array

LEAST_BYTES = 1 << 20
"""The smallest size in bytes of reused blocks; the C allocator reuses smaller blocks itself."""

MOST_BYTES = 256 << 20
"""Maximum number of bytes retained for reuse."""


class Recycled:
    """A cache of memory blocks: a block returns to the cache when its last array is freed."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.kept: list[Array] = []
        """Free blocks, least recently freed first."""
        self._most_bytes = most_bytes
        self._lock = RLock()

    def bytes(self, nbytes: int, fresh: Callable[[int], Array]) -> Array:
        """Return uninitialised bytes: a free block of exactly this size, else a new block."""
        raw = self._take(nbytes)
        if raw is None:
            raw = fresh(nbytes)
        # A separate array over the same bytes: views keep it alive, and its finaliser returns the
        # block.
        memory = (ctypes.c_ubyte * nbytes).from_address(raw.ctypes.data)
        lent = np.frombuffer(memoryview(memory), np.uint8)
        weakref.finalize(lent, self._give, raw).atexit = False
        return lent

    def _take(self, nbytes: int) -> Array | None:
        with self._lock:
            found = next((i for i, raw in enumerate(self.kept) if raw.nbytes == nbytes), None)
            return None if found is None else self.kept.pop(found)

    def _give(self, raw: Array) -> None:
        # An array may be freed at any moment, even while this thread holds the lock.
        with self._lock:
            self.kept.append(raw)
            while sum(r.nbytes for r in self.kept) > self._most_bytes:
                del self.kept[0]
