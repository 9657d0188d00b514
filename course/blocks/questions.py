"""The blocks that ask: `predict` before an experiment, and `why` after it."""

from __future__ import annotations

from compiler.dataclass import dataclass
from compiler.errors import CompileError, Where
from course.blocks.conditions import Condition, parse_condition
from course.blocks.results import Results, Run
from course.format.kind import block_kind
from course.format.references import Reference, parse_reference
from course.format.toml import Table, read_toml
from course.quantities.amount import Amount


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice of a prediction: its text, when it is right, and the feedback on it."""

    text: str
    when: Condition
    feedback: str


@dataclass(frozen=True, slots=True)
class Predict:
    """A prediction: of a number (`about`, within a relative tolerance), or of a choice."""

    ask: str
    about: Reference | None
    within: float
    choices: tuple[Choice, ...]

    @property
    def sources(self) -> set[str]:
        """The blocks whose results decide."""
        return {r.block for r in self.references}

    @property
    def references(self) -> tuple[Reference, ...]:
        """The results that decide."""
        found = [r for c in self.choices for r in c.when.references]
        return (*found, *filter(None, [self.about]))


def read_predict(body: str, where: Where) -> Predict:
    """Read the body of a prediction. Errors: E-LESSON-BLOCK, E-LESSON-TEXT."""
    table = read_toml(body, where).only("ask", "about", "within", "choice")
    about = table.text("about", "")
    choices = tuple(
        Choice(
            c.only("text", "when", "feedback").text("text"),
            parse_condition(c.text("when"), where),
            c.text("feedback"),
        )
        for c in table.tables("choice", ())
    )
    if bool(about) == bool(choices) or len(choices) == 1:
        raise table.fail("a prediction has either `about`, or two or more choices")
    within = table.number("within", 0.1)
    if not 0 <= within <= 1:
        raise table.fail(f"within is a fraction from 0 to 1, got {within}")
    reference = parse_reference(about, where) if about else None
    return Predict(table.text("ask"), reference, within, choices)


@block_kind(body="toml", read=read_predict, late=True)
def predict(run: Run, content: Predict, *, name: str) -> Results:
    """Ask for a number or a choice before an experiment, and compare it with the result.

    The result is `answer`: the number, or the position of the right choice, from 1.
    """
    if content.about is not None:
        return Results({"answer": run.amount(content.about, run.where)})

    def value_of(reference: Reference) -> float:
        return run.amount(reference, run.where).value

    right = [i for i, c in enumerate(content.choices, 1) if c.when.holds(value_of)]
    if len(right) != 1:
        shown = ", ".join(map(str, right)) or "none"
        message = f"exactly one choice must be right, but right are: {shown}"
        raise CompileError("E-LESSON-RESULT", message, where=run.where)
    return Results({"answer": Amount(right[0])})


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to a question, and the feedback on it."""

    text: str
    feedback: str
    right: bool


@dataclass(frozen=True, slots=True)
class Why:
    """A question on the reason, with its answers."""

    ask: str
    answers: tuple[Answer, ...]


def read_why(body: str, where: Where) -> Why:
    """Read the body of a question. Errors: E-LESSON-BLOCK."""
    table = read_toml(body, where).only("ask", "answer")
    answers = tuple(_answer(t) for t in table.tables("answer"))
    if len(answers) < 2 or not any(a.right for a in answers) or all(a.right for a in answers):
        raise table.fail("a question has two or more answers, right ones and wrong ones")
    return Why(table.text("ask"), answers)


def _answer(t: Table) -> Answer:
    t.only("text", "feedback", "right")
    return Answer(t.text("text"), t.text("feedback"), t.truth("right", False))


@block_kind(body="toml", read=read_why, runs=False)
def why(run: Run, content: Why) -> None:
    """Ask for the reason of a result; each answer has its own feedback."""
