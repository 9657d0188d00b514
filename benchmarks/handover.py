"""Handover latency: the time from a store on one processor until a second processor sees the store.

In a virtual machine, the latency reveals the current placement of the two processors. On Zen 4,
about 30 ns means threads of one core, 45 ns two cores that share a cache, and 170 ns cores of
different clusters.
"""

from __future__ import annotations

import ctypes
import os
import threading
from functools import cache
from time import perf_counter

import numpy as np

from compiler.codegen.jit import Library
from compiler.targets.target import host

TURNS = 20_000

_TEXT = """
define void @ping(ptr %cell, i64 %mine, i64 %turns) {
entry:
  br label %turn
turn:
  %i = phi i64 [0, %entry], [%next, %go]
  br label %look
look:
  %seen = load atomic i64, ptr %cell acquire, align 8
  %is.mine = icmp eq i64 %seen, %mine
  br i1 %is.mine, label %go, label %look
go:
  %other = xor i64 %mine, 1
  store atomic i64 %other, ptr %cell release, align 8
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %turns
  br i1 %more, label %turn, label %leave
leave:
  ret void
}
"""


@cache
def _library() -> Library:
    return Library.compile(f'target triple = "{host().triple}"\n{_TEXT}')


def handover_seconds() -> float:
    """Return the handover latency between the first two processors of this process, in seconds.

    Errors: ValueError with fewer than two processors.
    """
    one, other = sorted(os.sched_getaffinity(0))[:2]
    ping = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(
        _library().address("ping")
    )
    cell = np.zeros(16, np.int64)
    seconds = [0.0, 0.0]

    def side(mine: int, processor: int) -> None:
        os.sched_setaffinity(threading.get_native_id(), {processor})
        start = perf_counter()
        ping(cell.ctypes.data, mine, TURNS)
        seconds[mine] = perf_counter() - start

    threads = [threading.Thread(target=side, args=pair) for pair in enumerate((one, other))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return min(seconds) / TURNS / 2
