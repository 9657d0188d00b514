"""Measurement of a machine by probes, which our code generator compiles.

The measurement takes about two seconds. Rounds of all probes are interleaved, and the fastest round
of each probe counts. Two logical processors of a core share the units of the core, so a probe may
run at half speed. The fastest round shows the full speed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from compiler.codegen.jit import Library
from compiler.codegen.module import Arg, Launch, module_ir
from compiler.dataclass import dataclass
from compiler.machine.machine import Machine, estimated
from compiler.machine.probes import (
    Probe,
    copying,
    dots,
    multiply_adds,
    nothing,
    reading,
    tiles,
)
from compiler.targets.target import Target, host

ROUNDS = 40
ROUND_SECONDS = 0.003
"""The target duration of a round, in seconds; shorter rounds would include the clock's overhead."""

PAGE_BYTES = 2 << 20
LAUNCHES = 1000
LARGEST_BYTES = 512 << 20
"""Maximum size in bytes of the memory that a probe reads to measure the bandwidth of main
memory."""

Tell = Callable[[str], None]
"""A callback that receives the name of the next step."""


def measure(name: str, tell: Tell = lambda what: None) -> Machine:
    """Measure the machine on which this process runs."""
    target = host()
    lanes = target.lanes(4)
    tell("compiling probes")
    probes = {
        "flops_per_second": multiply_adds(lanes, 2000),
        **({"int8_ops_per_second": dots("int8", lanes, 2000)} if target.has_int8_dot else {}),
        **({"bf16_flops_per_second": dots("bf16", lanes, 2000)} if target.has_bf16_dot else {}),
        **({"int8_tile_ops_per_second": tiles("int8", 500)} if target.has_int8_tiles else {}),
        **({"bf16_tile_flops_per_second": tiles("bf16", 500)} if target.has_bf16_tiles else {}),
        **{level: reading(lanes, n, _iterations(n)) for level, n in _sizes(target).items()},
        "copy_bytes_per_second": copying(lanes, _behind_caches(target) // 2),
    }
    one, many = _launches(target)
    timed = {rate: _Timed(_call(probe, target)) for rate, probe in probes.items()}
    timed |= {"one": _Timed(one), "many": _Timed(many)}
    for number in range(ROUNDS):
        tell(f"round {number + 1} of {ROUNDS}")
        for each in timed.values():
            each.round()
    rates = {rate: probe.work / timed[rate].best for rate, probe in probes.items()}
    call, every = timed["one"].best, timed["many"].best
    return replace(
        estimated(target),
        name=name,
        streamed_copy_bytes_per_second=0.0,
        **rates,
        call_seconds=call,
        launch_seconds=max(every - call, 0.0) / (LAUNCHES - 1),
        fork_seconds=0.0,
        is_measured=True,
    )


def _sizes(target: Target) -> dict[str, int]:
    """Return for each memory level a number of bytes that fits there, but in no smaller level."""
    return {
        "l1_bytes_per_second": target.l1d_bytes // 2,
        "l2_bytes_per_second": max(target.l2_bytes // 2, 2 * target.l1d_bytes),
        # Cores share the last cache, so assume a quarter of its size.
        "l3_bytes_per_second": max(target.l3_bytes // 4, 2 * target.l2_bytes),
        "dram_bytes_per_second": _behind_caches(target),
    }


def _iterations(nbytes: int) -> int:
    """Return the number of passes of a call over a probe's memory, to read 4 MiB in total."""
    return max((4 << 20) // nbytes, 1)


def _behind_caches(target: Target) -> int:
    return min(4 * target.l3_bytes, LARGEST_BYTES)


@dataclass
class _Timed:
    """A measured call, its number of repetitions per round, and its minimum time so far in
    seconds."""

    call: Callable[[], object]
    n: int = 0
    best: float = float("inf")

    def round(self) -> None:
        """Time a round; the first round only calibrates the number of repetitions."""
        start = perf_counter()
        for _ in range(self.n or 1):
            self.call()
        seconds = perf_counter() - start
        if self.n:
            self.best = min(self.best, seconds / self.n)
        else:
            self.n = max(int(ROUND_SECONDS / max(seconds, 1e-7)), 1)


def _call(probe: Probe, target: Target) -> Callable[[], object]:
    """Return a function that calls a probe on new memory, after a write to every page."""
    library = Library.compile(module_ir({"probe": probe.kernel}, [], target), target)
    arrays = [_filled(int(b.nbytes)) for b in probe.kernel.params]
    function = library.function("probe", len(arrays))
    pointers = [a.ctypes.data for a in arrays]

    def call() -> object:
        _ = arrays
        return function(*pointers)

    call()
    return call


def _filled(nbytes: int) -> Any:
    """Return an array of small f32 numbers, aligned like the arena of a program."""
    raw = np.zeros(nbytes + PAGE_BYTES, np.uint8)
    start = -raw.ctypes.data % PAGE_BYTES
    numbers = raw[start : start + nbytes].view(np.float32)
    numbers.fill(1e-3)
    return numbers


def _launches(target: Target) -> tuple[Callable[[], object], Callable[[], object]]:
    """Return two functions: a call of one empty kernel, and a call of many empty kernels."""
    launch = Launch("probe", (Arg("input", 0), Arg("output", 0)))
    library = Library.compile(
        module_ir(
            {"probe": nothing().kernel},
            [launch] * LAUNCHES,
            target,
            [(0, 1), (0, LAUNCHES)],
        ),
        target,
    )
    arrays = [np.zeros(1, np.float32), np.zeros(1, np.float32)]
    tables = [np.array([a.ctypes.data], np.uint64) for a in arrays]
    pointers = [0, 0, *(t.ctypes.data for t in tables)]

    def caller(symbol: str) -> Callable[[], object]:
        function = library.function(symbol)

        def call() -> object:
            _ = arrays, tables
            return function(*pointers)

        return call

    return caller("run_0"), caller("run_1")
