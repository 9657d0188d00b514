"""Declarations of kinds of exercises.

    @exercise_kind(file="solution.py", read=read_settings, reply=reply)
    def write_rule(judgement, settings, text):
        '''Write a rewrite rule.'''

The decorated function judges an answer, and its docstring is the description. `reply` answers the
judge's questions in the process that runs the student's code. `read` parses the settings for both
functions. `gives` returns the texts that the page shows with the task, from the settings.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from course.format.toml import Table
from course.judging.exercise import KINDS, ExerciseKind, Given
from course.judging.judgement import Judgement
from course.student.execute import Student

S = TypeVar("S")

Judge = Callable[[Judgement, S, str], None]
ReplyTo = Callable[[Student, S, Mapping[str, Any]], Any]

PYTHON, TEXT = "solution.py", "solution.txt"


def exercise_kind(
    *,
    read: Callable[[Table], S],
    file: str = PYTHON,
    gives: Callable[[S], Sequence[Given]] = lambda _: (),
    reply: ReplyTo[S] | None = None,
) -> Callable[[Judge[S]], ExerciseKind]:
    """Declare a function that judges answers as the kind of exercise named after it."""

    def declare(fn: Judge[S]) -> ExerciseKind:
        name, words = fn.__name__, inspect.getdoc(fn) or ""
        assert words, f"{name} has no docstring"
        assert name not in KINDS, f"the kind {name} is declared twice"
        KINDS[name] = ExerciseKind(name, words, file, read, gives, fn, reply)
        return KINDS[name]

    return declare
