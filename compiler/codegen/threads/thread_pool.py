"""The thread pool of this process: its code in memory, and its reactions to a fork or an exit."""

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
"""How long a worker looks for work before it sleeps, and a caller for what it waits for."""

CREDIT_NS = 5_000_000
"""Time that help has saved counts up to this much against what it costs."""


class Code(Protocol):
    """Machine code in memory."""

    def address(self, symbol: str) -> int:
        """Where a function begins."""
        ...


@dataclass(frozen=True)
class ThreadPool:
    """Threads that help the one that calls; they come when they are first needed."""

    code: Code

    def begin(self) -> None:
        """Nobody is there yet. A child process begins anew: its threads are its parent's."""
        looks, credit = self._pace
        processors = len(os.sched_getaffinity(0))
        self._call(RESET, processors - 1, looks, WAKE_STEPS, credit)

    @cached_property
    def _pace(self) -> tuple[int, int]:
        """How many looks and ticks it is to sleep and to forget, on this processor.

        The shortest of some measurements: in the others somebody else had the processor.
        """
        n, ns, ticks = 500, 1 << 40, 1
        for _ in range(5):
            start = perf_counter_ns()
            found = self._call(REST, n)
            ns, ticks = min((ns, ticks), (max(perf_counter_ns() - start, 1), found))
        return max(LOOK_NS * n // ns, 1), CREDIT_NS * ticks // ns

    def let_go(self) -> None:
        """End the threads that have nothing to do: a process that forks, or ends, has none."""
        self._call(LET_GO)

    @property
    def addresses(self) -> dict[str, int]:
        """The functions that programs call."""
        return {SHARE: self.code.address(SHARE)}

    def _call(self, symbol: str, *numbers: int) -> int:
        kind = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * len(numbers))
        return kind(self.code.address(symbol))(*numbers)


@cache
def thread_pool(compile_code: Callable[[str], Code]) -> ThreadPool:
    """The thread pool of this process, whose code is compiled when it is first asked for."""
    assert has_thread_pool(host()), "programs ask another runtime for threads here"
    made = ThreadPool(compile_code(pool_text(host())))
    made.begin()
    os.register_at_fork(before=made.let_go, after_in_child=made.begin)
    atexit.register(made.let_go)
    return made
