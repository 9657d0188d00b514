"""The job that times two compilations of one model together, and compares them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from app.jobs.models import compilation_of, other_compilation
from app.jobs.recompile import recompiled
from app.jobs.results import Results
from app.jobs.task import COMPILED, OTHER, Task
from app.jobs.telling import sparsely
from app.jobs.worker_slot import Slot, measuring
from app.rounds import interleaved_rounds
from app.wire import comparisons
from app.wire.asked import Asked, Sent, asked
from app.wire.fields import FLAG, number, text
from compiler.bench.versus import Versus, enough_seconds, n_copies, versus
from compiler.runtime.native_call import native_calls
from compiler.runtime.program import Program

MOST_ROUNDS = 1_000
KERNELS_SHARE = 0.4
"""Fraction of the time in which whole runs and kernels are timed; the rest compares copies."""
COPIES_LIMIT_BYTES = 500_000_000
"""Maximum memory of all copies, in bytes."""


@dataclass(frozen=True, slots=True)
class ComparisonRequest(Asked):
    """The request of a comparison of two compilations, `job` (A) and `other` (B).

    `again` measures even if an equal comparison is stored. The stored request omits this flag, so
    later requests find the newest of all measurements of A and B.
    """

    kind = "comparison"
    sent = Sent("ComparisonOptions", "The compilation B, and the minimum duration in seconds.")

    other: str = asked(text(60))
    seconds: float = asked(number(0.5, 20.0), 3.0)
    again: bool = asked(FLAG, False)

    def to_json(self) -> dict[str, Any]:
        """Return the request as JSON, equal for all measurements of A and B."""
        return {**Asked.to_json(self), "again": False}


def compare_compiled(task: Task, results: Results) -> None:
    """Repeat two finished compilations of one model, and time both programs.

    Errors: E-RESULT-ABSENT if a compilation was evicted or would now give other kernels, and the
    errors of the model or its inputs.
    """
    request, say = task.request, results.say
    say("phase", {"phase": "code", "words": "generating the code again"})
    a = recompiled(compilation_of(task), task.parts_of(COMPILED))
    b = recompiled(other_compilation(task), task.parts_of(OTHER))
    seed, threads = a.options["seed"], a.options["threads"]
    inputs = a.inputs()
    programs = (a.program, b.program)
    for program in programs:
        program.run(inputs)
    say("phase", {"phase": "measure", "words": "timing both programs, interleaved"})
    seconds, tell = request["seconds"], sparsely(say)
    with measuring(say, threads) as slot:
        first, second = interleaved_rounds(
            programs, inputs, KERNELS_SHARE * seconds, MOST_ROUNDS, _part(tell), slot.pause
        )
        one = min(first.whole) + min(second.whole)
        found, is_native = _versus(programs, inputs, one, (1 - KERNELS_SHARE) * seconds, slot)
        tell(len(first.whole), 1.0)
    payload = comparisons.comparison(
        request["other"],
        found,
        programs,
        (first, second),
        {"threads": threads, "seed": seed},
        slot.disturbance(),
        is_native=is_native,
    )
    results.write("comparison", payload)
    say("ready", {"part": "comparison"})


def _part(tell: Callable[[int, float], None]) -> Callable[[int, float], None]:
    """Return a function that reports progress as the first part of the measurement."""
    return lambda done, share: tell(done, KERNELS_SHARE * min(share, 0.99))


def _versus(
    programs: tuple[Program, Program],
    inputs: Mapping[str, Any],
    run_seconds: float,
    seconds: float,
    slot: Slot,
) -> tuple[Versus, bool]:
    """Compare copies of the native calls, or whole runs if a program has no single native call."""
    seconds = enough_seconds(run_seconds, seconds)
    nbytes = sum(p.weight_bytes + p.memory.peak_bytes for p in programs)
    n = n_copies(run_seconds, nbytes, seconds, COPIES_LIMIT_BYTES)
    a, b = (native_calls(p, inputs, n) for p in programs)
    if a and b:
        return versus(a, b, seconds, slot.pause), True
    runs = [[lambda p=p: p.run(inputs)] for p in programs]
    return versus(runs[0], runs[1], seconds, slot.pause), False
