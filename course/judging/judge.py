"""The protocol of judging: a request as JSON, an answer as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from compiler.errors import CompileError, Where
from compiler.limits import Limits, limited
from course.graphs import MOST_CHARACTERS
from course.judging.exercise import Exercise, exercise_of
from course.judging.judgement import Judgement, Session, Verdict
from course.judging.session import InProcess
from course.student.execute import Overtime, line_in, within

VERSION = 1
SECONDS = 30.0
"""The time for judging an answer."""

Open = Callable[[Exercise, str], Session]
"""A function that takes an exercise and an answer, and returns the session that runs the answer."""

Find = Callable[[str], Exercise]
"""A function from the name of an exercise to the exercise. Errors: E-LESSON-FOLDER."""


def judge(request: object, open_session: Open, find: Find | None, seconds: float) -> dict[str, Any]:
    """Judge the answer of a request; every error of the request or the answer is in the result.

    With `find`, the request names its exercise; otherwise it may contain the exercise as data.
    """
    import_module("course.exercises")  # Declares the kinds.
    judgement: Judgement | None = None
    verdict: Verdict = "error"
    error: CompileError | None = None
    file = ""
    try:
        exercise, text, seed = _read(request, find)
        file = exercise.declared.file
        judgement = Judgement(open_session(exercise, text), seed)
        with within(seconds, file), limited(Limits(seconds=seconds)):
            exercise.declared.judge(judgement, exercise.typed_settings(), text)
        verdict, error = judgement.verdict, judgement.error
    except Overtime as e:
        verdict = "timeout"
        message = f"the answer took more than {seconds:g} s"
        line = line_in(e, file)
        where = Where(file, line, 1 if line else 0)
        hint = "look for a loop that does not end"
        error = CompileError("E-LIMIT-SECONDS", message, where=where, hint=hint)
    except CompileError as e:
        verdict, error = ("timeout" if e.code == "E-LIMIT-SECONDS" else "error"), e
    found: dict[str, Any] = {
        "version": VERSION,
        "verdict": verdict,
        "tests": [t.to_json() for t in judgement.tests] if judgement else [],
        "scores": [s.to_json() for s in judgement.scores] if judgement else [],
        "output": judgement.output if judgement else "",
    }
    return found if error is None else {**found, "error": error.to_json()}


def _read(request: object, find: Find | None) -> tuple[Exercise, str, int]:
    """Return exercise, answer and seed of a request. Errors: E-ANSWER-FORM, E-EXERCISE-FORM."""
    if not isinstance(request, Mapping) or request.get("version", VERSION) != VERSION:
        raise CompileError("E-ANSWER-FORM", f"a request is a table with version = {VERSION}")
    named, files, seed = (request.get(k) for k in ("exercise", "files", "seed"))
    if isinstance(named, str) and find is not None:
        exercise = find(named)
    elif find is None:
        exercise = exercise_of(named)
    else:
        raise CompileError("E-ANSWER-FORM", "a request names its exercise: LESSON/EXERCISE")
    file = exercise.declared.file
    text = files.get(file) if isinstance(files, Mapping) else None
    if not isinstance(text, str):
        raise CompileError("E-ANSWER-FORM", f"the answer has no file {file}", where=Where(file))
    if len(text) > MOST_CHARACTERS:
        message = f"the answer has {len(text):,} characters; the limit is {MOST_CHARACTERS:,}"
        raise CompileError("E-ANSWER-SIZE", message, where=Where(file))
    return exercise, text, seed if isinstance(seed, int) and 0 <= seed < 2**63 else 0


def judge_in_process(request: dict[str, Any], seconds: float = SECONDS) -> dict[str, Any]:
    """Judge the answer of a request, and run its code in this process.

    For the page and for authors: a server must not run untrusted code in its own process.
    """
    return judge(request, InProcess, None, seconds)
