"""A judgement: the tests and scores of an answer, and questions to the student's code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Literal, Protocol

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.figures.figure import TEXTS, Unit

Verdict = Literal["passed", "failed", "error", "timeout"]

Question = Mapping[str, Any]
Reply = Mapping[str, Any]
"""`{"value": ...}`, or `{"error": ...}` with an error as data."""


class Session(Protocol):
    """The student's code, in this process or in a sandbox."""

    @property
    def output(self) -> str:
        """The output of the code."""
        ...

    def ask(self, questions: Sequence[Question]) -> Sequence[Reply]:
        """Return a reply for each question. Errors: Overtime, E-ANSWER-*."""
        ...


@dataclass(frozen=True, slots=True)
class Test:
    """A test of an answer; a failed one may have a counterexample."""

    name: str
    passed: bool
    message: str
    counterexample: Mapping[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the test as data."""
        found = {"name": self.name, "passed": self.passed, "message": self.message}
        more = {} if self.counterexample is None else {"counterexample": self.counterexample}
        return found | more


@dataclass(frozen=True, slots=True)
class Score:
    """A deterministic score: a quantity, and the largest value that reaches the goal.

    `test` is the name of the test that compares the value with the goal.
    """

    name: str
    value: float
    unit: Unit
    goal: float
    test: str = ""

    @property
    def reached(self) -> bool:
        """Whether the value reaches the goal, up to rounding."""
        return self.value <= self.goal * (1 + 1e-9)

    @property
    def words(self) -> str:
        """Compare the value with the goal."""
        write = TEXTS[self.unit]
        name = self.name.replace("_", " ")
        return f"{name}: {write(self.value)}, the goal is at most {write(self.goal)}"

    def to_json(self) -> dict[str, Any]:
        """Return the score as data."""
        return {"test": self.test, "name": self.name, "value": self.value, "unit": self.unit,
                "goal": self.goal, "reached": self.reached}  # fmt: skip


@dataclass(slots=True)
class Judgement:
    """The tests and scores so far; `seed` determines all random inputs."""

    session: Session
    seed: int = 0
    tests: list[Test] = field(default_factory=list)
    scores: list[Score] = field(default_factory=list)
    error: CompileError | None = None
    printed: str | None = None

    @property
    def output(self) -> str:
        """The code's output for the first questions; output of later searches repeats it."""
        return self.session.output if self.printed is None else self.printed

    def passed(self, name: str, message: str = "") -> None:
        """Record a passed test."""
        self.tests.append(Test(name, True, message))

    def failed(
        self, name: str, message: str, counterexample: Mapping[str, Any] | None = None
    ) -> None:
        """Record a failed test."""
        self.tests.append(Test(name, False, message, counterexample))

    def refused(self, name: str, error: CompileError) -> None:
        """Record a test that ended with an error; the first error is also that of the answer."""
        self.failed(name, error.message)
        self.error = self.error or error

    def score(self, test: str, score: Score) -> None:
        """Record a score, and the test that it reaches its goal."""
        self.scores.append(replace(score, test=test))
        (self.passed if score.reached else self.failed)(test, score.words)

    def ask(self, questions: Sequence[Question]) -> Sequence[Reply]:
        """Ask the student's code. Errors: E-ANSWER-FORM if the number of replies differs."""
        replies = self.session.ask(questions)
        if self.printed is None:
            self.printed = self.session.output
        if len(replies) != len(questions):
            message = f"{len(replies)} replies to {len(questions)} questions"
            raise CompileError("E-ANSWER-FORM", message)
        return replies

    @property
    def verdict(self) -> Verdict:
        """The verdict on all tests."""
        if self.error is not None:
            return "error"
        return "passed" if self.tests and all(t.passed for t in self.tests) else "failed"
