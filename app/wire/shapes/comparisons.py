"""Comparisons of two compilations of one model, timed together."""

from __future__ import annotations

from typing import TypedDict

from app.wire.shapes import Payload
from app.wire.shapes.profiles import Disturbance, RunTimes, Times
from compiler.bench.versus import Verdict


class ComparedKernel(Times):
    """The times of a kernel."""

    kernel: int


class ComparedProgram(TypedDict):
    """The times of one of two programs: whole runs, and each kernel.

    `launches_s` is the median time of all launches, without the transfer of inputs and outputs.
    The times of kernels include a separate call each, which takes about `call_s`.
    """

    launches_s: float
    call_s: float
    run: RunTimes
    kernels: list[ComparedKernel]


class ComparedRuns(TypedDict):
    """The verdict on whole runs of one copy of each program.

    `ratio` is the time of B relative to A, and `low` to `high` its 99 % confidence interval.
    Differences below `equal_share` count as equal.
    """

    verdict: Verdict
    ratio: float
    low: float
    high: float
    equal_share: float


class Comparison(Payload):
    """Times of two compilations A and B of one model, in interleaved rounds of one process.

    `other` is the compilation B. `ratio` is the time of B relative to A, and `low` to `high` its
    99 % confidence interval. `verdict` compares B with A. The ratio compares the launches of
    `n_copies` copies of each program, in `n_blocks` blocks. If `is_native` is false, the ratio
    compares whole runs, because a run needs more than one native call. `runs` compares whole runs
    with transfers, of one copy each. Differences below `equal_share` count as equal.
    """

    other: str
    verdict: Verdict
    ratio: float
    low: float
    high: float
    equal_share: float
    n_copies: int
    n_blocks: int
    is_native: bool
    threads: int
    seed: int
    disturbance: Disturbance
    runs: ComparedRuns
    a: ComparedProgram
    b: ComparedProgram
