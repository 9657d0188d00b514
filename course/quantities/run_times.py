"""The time of runs, as a measured quantity of experiments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext

from course.quantities.amount import Amount, median_of
from course.quantities.quantity import quantity
from course.quantities.subject import Subject


@quantity("s", needs="time")
def seconds(subject: Subject) -> float:
    """The median time of one run on this machine; the interval has 95 % confidence."""
    raise AssertionError("measured together with other subjects")


Alone = Callable[[], AbstractContextManager[object]]
"""A function that returns the context of a measurement: the measuring slot of a server."""


def measured(
    subjects: Mapping[str, Subject], budget_s: float, alone: Alone = nullcontext
) -> tuple[dict[str, Amount], dict[str, tuple[float, ...]]]:
    """Time the programs of several subjects in interleaved rounds, for `budget_s` seconds.

    The rounds run in the context `alone`, after all compilations. Returns the median time of each
    subject, and the times of its rounds. Errors: those of compiling and running.
    """
    from compiler.bench.timing import WARM_UP_S, interleaved
    from compiler.cached import compile as compile_program
    from compiler.runtime.inputs import random_inputs

    calls: dict[str, Callable[[], object]] = {}
    for name, s in subjects.items():
        program = compile_program(s.source or s.graph, **s.options)
        inputs = random_inputs(s.fed or s.source or s.graph, 0)
        calls[name] = lambda program=program, inputs=inputs: program.run(inputs)
    with alone():
        times = interleaved(calls, budget_s, warm_up_seconds=min(budget_s, WARM_UP_S))
    rounds = {name: t.seconds for name, t in times.items()}
    return {name: median_of(t) for name, t in rounds.items()}, rounds
