"""The time of compilations, as a measured quantity of experiments."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager, nullcontext
from time import process_time

from course.quantities.amount import Amount, median_of
from course.quantities.quantity import quantity
from course.quantities.run_times import Alone
from course.quantities.subject import Subject

N_COMPILATIONS = 6
"""The number of timed compilations of a program, after one that is not timed.

The range of six values contains the median with 97 % probability, the range of three with 75 %.
"""
CACHE = "COMPILARIUM_CACHE"
"""The environment variable of the cache's folder; an empty value disables the cache."""


@quantity("s", needs="compiling")
def compile_seconds(subject: Subject) -> float:
    """The median processor time of a compilation without a cache, with all passes and code."""
    raise AssertionError("measured by compile_times")


def compile_times(subjects: Mapping[str, Subject], alone: Alone = nullcontext) -> dict[str, Amount]:
    """Return the processor time of compiling each subject. Errors: those of compiling.

    Processor time does not grow when other programs use the processor. The compilations of all
    subjects are interleaved, in the context `alone`.
    """
    from compiler.driver import compile as compile_program
    from compiler.options import Options

    times: dict[str, list[float]] = {name: [] for name in subjects}
    with alone(), _without_cache():
        for _ in range(N_COMPILATIONS + 1):
            for name, s in subjects.items():
                start = process_time()
                compile_program(s.source or s.graph, Options(**s.options))
                times[name].append(process_time() - start)
    return {name: median_of(seconds[1:]) for name, seconds in times.items()}


@contextmanager
def _without_cache() -> Generator[None]:
    """Disable the cache of machine code, which would make all compilations but the first cheap."""
    before = os.environ.get(CACHE)
    os.environ[CACHE] = ""
    try:
        yield
    finally:
        if before is None:
            del os.environ[CACHE]
        else:
            os.environ[CACHE] = before
