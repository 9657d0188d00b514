"""The thread pool of this process: its code in memory, and its fork and exit handlers."""

from __future__ import annotations

import atexit
import ctypes
import os
from collections.abc import Callable
from functools import cache, cached_property
from time import perf_counter_ns
from typing import Protocol

from compiler.codegen.threads.pool_text import (
    LET_GO,
    RESET,
    REST,
    SHARE,
    WAKE_STEPS,
    has_thread_pool,
    pool_text,
)
from compiler.dataclass import dataclass
from compiler.targets.target import host

LOOK_NS = 50_000
"""The time that workers and callers spin before they sleep, in nanoseconds."""

CREDIT_NS = 5_000_000
"""The limit of the balance of saved time, in nanoseconds."""


class Code(Protocol):
    """Machine code in memory."""

    def address(self, symbol: str) -> int:
        """Return the address of a function."""
        ...


@dataclass(frozen=True)
class ThreadPool:
    """A pool of worker threads, started on first use."""

    code: Code

    def begin(self) -> None:
        """Reset the pool to no workers, also in a child process: fork copies no threads."""
        looks, credit = self._pace
        processors = len(os.sched_getaffinity(0))
        self._call(RESET, processors - 1, looks, WAKE_STEPS, credit)

    @cached_property
    def _pace(self) -> tuple[int, int]:
        """Measure the spin count and the balance limit in ticks on this processor.

        Use the shortest of several measurements, since preemption lengthens some of them.
        """
        n, ns, ticks = 500, 1 << 40, 1
        for _ in range(5):
            start = perf_counter_ns()
            found = self._call(REST, n)
            ns, ticks = min((ns, ticks), (max(perf_counter_ns() - start, 1), found))
        return max(LOOK_NS * n // ns, 1), CREDIT_NS * ticks // ns

    def let_go(self) -> None:
        """End the idle workers, before a fork or at exit."""
        self._call(LET_GO)

    @property
    def addresses(self) -> dict[str, int]:
        """Return the addresses of the pool's public functions."""
        return {SHARE: self.code.address(SHARE)}

    def _call(self, symbol: str, *numbers: int) -> int:
        kind = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * len(numbers))
        return kind(self.code.address(symbol))(*numbers)


@cache
def thread_pool(compile_code: Callable[[str], Code]) -> ThreadPool:
    """Return the thread pool of this process; the first call compiles its code."""
    assert has_thread_pool(host()), "this platform uses another threading runtime"
    made = ThreadPool(compile_code(pool_text(host())))
    made.begin()
    os.register_at_fork(before=made.let_go, after_in_child=made.begin)
    atexit.register(made.let_go)
    return made
