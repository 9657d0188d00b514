"""The exercise to predict a number."""

from __future__ import annotations

import re

from compiler.dataclass import dataclass
from compiler.errors import CompileError, Where
from compiler.figures.figure import TEXTS
from compiler.passes.pipeline.run import run_pipeline
from compiler.passes.pipeline.text import parse_pipeline
from course.exercises.declaration import TEXT, exercise_kind
from course.format.toml import Table
from course.judging.graphs import GraphCase, read_case
from course.judging.judgement import Judgement
from course.quantities.quantity import Quantity, quantity_named
from course.quantities.subject import Subject

_NUMBER = re.compile(r"-?\d[\d,_ ]{0,30}(?:\.\d{1,20})?(?:e[-+]?\d{1,3})?\Z")


@dataclass(frozen=True, slots=True)
class Mistake:
    """A wrong number that follows from a misconception, and the feedback on it."""

    value: float
    words: str


@dataclass(frozen=True, slots=True)
class PredictSettings:
    """A graph, its passes, the quantity to predict, the allowed error, and known mistakes."""

    case: GraphCase
    pipeline: str
    quantity: Quantity
    within: float
    mistakes: tuple[Mistake, ...]


def read_prediction(t: Table) -> PredictSettings:
    """Read the settings. Errors: E-EXERCISE-FORM."""
    t.only("graph", "pipeline", "quantity", "within", "mistake")
    pipeline, name = t.text("pipeline", "none"), t.text("quantity")
    try:
        parse_pipeline(pipeline)
        quantity = quantity_named(name)
    except CompileError as e:
        raise t.fail(e.message) from None
    if not quantity.is_counted:
        raise t.fail(f"{name} does not follow from the graph alone; use a predict block instead")
    case = read_case(t.table("graph"), 1)
    mistakes = tuple(
        Mistake(m.only("value", "words").number("value"), m.text("words"))
        for m in t.tables("mistake", ())
    )
    return PredictSettings(case, pipeline, quantity, t.number("within", 0.0), mistakes)


@exercise_kind(read=read_prediction, file=TEXT, gives=lambda s: [s.case.given()])
def predict(j: Judgement, settings: PredictSettings, text: str) -> None:
    """Predict a quantity of a graph after passes, as a number in the base unit.

    The compiler computes the quantity, and the relative error decides. For a number that follows
    from a known mistake, the judge returns the feedback on this mistake.
    """
    given = text.strip()
    if not _NUMBER.match(given):
        message = f"expected a number, got {given[:40]!r}"
        j.refused("the number", CompileError("E-ANSWER-FORM", message, where=Where(TEXT, 1, 1)))
        return
    guess = float(re.sub(r"[,_ ]", "", given))
    q = settings.quantity
    name, _, graph = settings.case.graphs()[0]
    after = run_pipeline(graph, parse_pipeline(settings.pipeline))[0]
    amount = q.of(Subject(after))
    if abs(guess - amount.value) <= settings.within * abs(amount.value):
        j.passed(name, f"{q.name.replace('_', ' ')}: {amount.text()}")
        return
    more = "more" if guess > amount.value else "less"
    known = [m.words for m in settings.mistakes if m.value == guess]
    j.failed(name, " ".join([f"{TEXTS[q.unit](guess)} is {more} than counted.", *known]))
