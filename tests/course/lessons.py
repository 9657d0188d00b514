"""Texts of lessons for tests."""

from __future__ import annotations

import pytest

from compiler.errors import CompileError
from course.blocks.all import read_lesson
from course.blocks.results import Results, Run
from course.blocks.run import run_lesson

FRONT = """+++
title = "Fusion"
goal = "You can count the trips to memory of a chain."
question = "Why is one kernel faster than three?"
part = 2
number = 70
minutes = 20
+++
"""

CHAIN = """```graph {name=chain}
graph chain(x: f32[6,5]) {
  a = neg(x)
  b = exp(a)
  y = relu(b)
  return y
}
```
"""


def lesson_text(*parts: str) -> str:
    return FRONT + "\n" + "\n".join(parts)


def ran(*parts: str, seconds: float = 0.0) -> Run:
    """Run the blocks of a lesson; raise the first error."""
    run, found = run_lesson(read_lesson(lesson_text(*parts)), seconds=seconds)
    for each in found:
        if each.error is not None:
            raise each.error
    return run


def results(run: Run, name: str) -> Results:
    """Return the results of a block."""
    return run.results[name]


def error_of(*parts: str, seconds: float = 0.0) -> CompileError:
    """Return the error of a lesson's blocks."""
    with pytest.raises(CompileError) as caught:
        ran(*parts, seconds=seconds)
    return caught.value


def values(run: Run, name: str) -> dict[str, float]:
    """Return the numbers of a block, by path."""
    return {path: a.value for path, a in results(run, name).amounts.items()}
