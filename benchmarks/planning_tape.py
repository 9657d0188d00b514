"""A recorded sequence of allocations: the common ground of the made traces."""

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
        """Allocate at least one byte at a step of its own; the handle frees it."""
        self._sizes.append(max(1, int(size)))
        self._starts.append(self._step)
        self._ends.append(-1)
        self._step += 1
        return len(self._sizes) - 1

    def free(self, *handles: int) -> None:
        """End lifetimes before the next allocation, each at most once."""
        for handle in handles:
            assert self._ends[handle] < 0, "freed twice"
            self._ends[handle] = self._step

    def passing(self, *sizes: float) -> None:
        """Temporaries: all allocated, then all freed."""
        self.free(*[self.take(size) for size in sizes])

    def chain(self, sizes: Iterable[float]) -> int:
        """Results of which each is freed once the next is there; the handle of the last one."""
        last = -1
        for size in sizes:
            following = self.take(size)
            if last >= 0:
                self.free(last)
            last = following
        return last

    def buffers(self) -> list[Buffer]:
        """What was recorded, in the order of allocation."""
        rows = zip(self._sizes, self._starts, self._ends, strict=True)
        return [
            Buffer(f"b{i}", size, start, self._step if end < 0 else end)
            for i, (size, start, end) in enumerate(rows)
        ]
