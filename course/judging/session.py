"""The student's code in this process."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from compiler.dataclass import dataclass
from compiler.errors import CODES, CompileError, Where
from course.judging.exercise import Exercise
from course.judging.judgement import Question, Reply
from course.student.execute import Student, load


@dataclass(slots=True)
class InProcess:
    """Executes the answer on the first question, and replies to all questions."""

    exercise: Exercise
    code: str
    student: Student | None = None
    settings: Any = field(default=None)

    @property
    def output(self) -> str:
        """The output of the code."""
        return self.student.output.text if self.student else ""

    def ask(self, questions: Sequence[Question]) -> list[Reply]:
        """Return a reply for each question. Errors: E-ANSWER-* of executing the file."""
        kind = self.exercise.declared
        assert kind.reply is not None, f"{kind.name} runs no code"
        if self.student is None:
            self.settings = self.exercise.typed_settings()
            self.student = load(self.code, kind.file)
        return [self._reply(self.student, q) for q in questions]

    def _reply(self, student: Student, question: Question) -> Reply:
        reply = self.exercise.declared.reply
        assert reply is not None, "checked by ask"
        try:
            return {"value": student.call(lambda: reply(student, self.settings, question))}
        except CompileError as e:
            return {"error": e.to_json()}


def error_of(reply: object) -> CompileError | None:
    """Return the error of a reply, or None. Replies may come from hostile code."""
    if not isinstance(reply, Mapping):
        return CompileError("E-ANSWER-FORM", "a reply is not a table")
    data = reply.get("error")
    if data is None:
        return None if "value" in reply else CompileError("E-ANSWER-FORM", "a reply has no value")
    if not isinstance(data, Mapping):
        return CompileError("E-ANSWER-FORM", "the error of a reply is not a table")
    code, where = data.get("code"), data.get("where")
    place = where if isinstance(where, Mapping) else {}
    line, column = (place.get(k) for k in ("line", "column"))
    source = str(place.get("source", ""))[:100]
    notes = data.get("notes")
    return CompileError(
        code if isinstance(code, str) and code in CODES else "E-ANSWER-PYTHON",
        str(data.get("message", ""))[:2_000],
        where=Where(source, whole_number(line) or 0, whole_number(column) or 0),
        notes=[str(n)[:500] for n in notes[:5]] if isinstance(notes, list) else (),
        hint=str(data.get("hint", ""))[:500],
    )


def whole_number(value: object) -> int | None:
    """Return a value of a reply if it is an integer, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return int(value) if value == int(value) and abs(value) < 2**60 else None
