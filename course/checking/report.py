"""The report of a check: problems with their positions, and the time of each part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

from compiler.dataclass import dataclass
from compiler.errors import CompileError, Where


@dataclass(frozen=True, slots=True)
class Problem:
    """A violation: its position, a message and a hint."""

    where: Where
    message: str
    hint: str = ""

    def __str__(self) -> str:
        place = f"{self.where.source}:{self.where.line}" if self.where.line else self.where.source
        return f"{place}: {self.message}" + (f"\n  hint: {self.hint}" if self.hint else "")

    def to_json(self) -> dict[str, Any]:
        """Return the problem as data."""
        return {
            "source": self.where.source,
            "line": self.where.line,
            "message": self.message,
            "hint": self.hint,
        }


def problem_of(error: CompileError) -> Problem:
    """Return an error as a problem."""
    words = f"{error.code}: {error.message}"
    return Problem(error.where, " ".join([words, *error.notes]), error.hint)


@dataclass(frozen=True, slots=True)
class Timed:
    """A part of a lesson that ran, and its time."""

    name: str
    kind: str
    seconds: float


@dataclass(slots=True)
class Report:
    """The problems of a lesson, and the times of its blocks and exercises."""

    name: str
    problems: list[Problem] = field(default_factory=list)
    times: list[Timed] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether there is no problem."""
        return not self.problems

    def add(self, problems: Sequence[Problem]) -> None:
        """Add problems."""
        self.problems += problems

    def to_json(self) -> dict[str, Any]:
        """Return the report as data."""
        return {
            "lesson": self.name,
            "ok": self.ok,
            "problems": [p.to_json() for p in self.problems],
            "times": [{"name": t.name, "kind": t.kind, "seconds": t.seconds} for t in self.times],
        }
