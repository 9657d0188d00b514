"""A recorder of allocations, with which all generated traces are built."""

from __future__ import annotations

from collections.abc import Iterable

from compiler.memory.buffer import Buffer


class Tape:
    """An allocator that records lifetimes. Each allocation is one step, as in a profiler's trace.

    Buffers that are never freed live until the end of the trace.
    """

    def __init__(self) -> None:
        self._sizes: list[int] = []
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._step = 0

    def __len__(self) -> int:
        return len(self._sizes)

    def take(self, size: float) -> int:
        """Allocate at least one byte at a new step; return a handle for `free`."""
        self._sizes.append(max(1, int(size)))
        self._starts.append(self._step)
        self._ends.append(-1)
        self._step += 1
        return len(self._sizes) - 1

    def free(self, *handles: int) -> None:
        """End the lifetimes of allocations before the next step; no handle may be freed twice."""
        for handle in handles:
            assert self._ends[handle] < 0, "freed twice"
            self._ends[handle] = self._step

    def passing(self, *sizes: float) -> None:
        """Allocate temporaries one by one, then free all of them."""
        self.free(*[self.take(size) for size in sizes])

    def chain(self, sizes: Iterable[float]) -> int:
        """Allocate results, each freed after the allocation of the next; return the last handle."""
        last = -1
        for size in sizes:
            following = self.take(size)
            if last >= 0:
                self.free(last)
            last = following
        return last

    def buffers(self) -> list[Buffer]:
        """Return the recorded buffers in the order of allocation."""
        rows = zip(self._sizes, self._starts, self._ends, strict=True)
        return [
            Buffer(f"b{i}", size, start, self._step if end < 0 else end)
            for i, (size, start, end) in enumerate(rows)
        ]
