"""Payloads of lessons: results of blocks, drawings of small graphs, and verdicts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

from app.wire.moving import motion
from app.wire.problems import problem
from app.wire.shapes import lessons as shapes
from app.wire.small_graphs import drawings
from course.blocks.results import Results
from course.blocks.run import Ran
from course.quantities.amount import Amount
from course.quantities.quantity import quantity_named

_MOST_STEPS = 200
_MOST_ROUNDS = 400
_MOST_TEXT = 60_000


def block(position: int, ran: Ran) -> shapes.LessonBlock:
    """Return the results of a block that ran."""
    of, found = ran.block, ran.results or Results()
    data = found.data
    measure = [quantity_named(q) for q in of.content.measure] if of.kind == "experiment" else []
    rounds: Mapping[str, Any] = data.get("rounds", {})
    cases: Mapping[str, Any] = data.get("cases", {})
    return {
        "block": position,
        "name": of.name,
        "kind": of.kind,
        "seconds": ran.seconds,
        "amounts": {name: amount(a) for name, a in found.amounts.items()},
        "texts": {name: text[:_MOST_TEXT] for name, text in found.texts.items()},
        "output": found.output,
        "error": problem(ran.error) if ran.error else None,
        "drawings": drawings({k: found.texts[k] for k in _GRAPHS if k in found.texts}),
        "passes": [_pass(p) for p in data.get("passes", [])],
        "measure": [
            {"name": q.name, "unit": q.unit, "words": q.words, "timed": q.is_timed} for q in measure
        ],
        "cases": [_case(name, c, rounds.get(name, ())) for name, c in cases.items()],
        "buffers": data.get("buffers", []),
        "motion": motion(data["motion"]) if "motion" in data else None,
        "right": _right(ran),
    }


_GRAPHS = ("graph", "before", "after", "answer")
"""The texts that are graphs."""


def _case(name: str, case: Mapping[str, Any], rounds: Sequence[float]) -> shapes.LessonCase:
    return {
        "name": name,
        "pipeline": case["pipeline"],
        "words": case["words"],
        "rounds": list(rounds[:_MOST_ROUNDS]),
    }


def _right(ran: Ran) -> int | None:
    answer = ran.results.amounts.get("answer") if ran.results else None
    is_choice = ran.block.kind == "predict" and bool(ran.block.content.choices)
    return int(answer.value) - 1 if answer and is_choice else None


def _pass(found: Mapping[str, Any]) -> shapes.LessonPass:
    steps = found["steps"]
    return cast(
        shapes.LessonPass,
        {**found, "steps": steps[:_MOST_STEPS], "n_more": max(0, len(steps) - _MOST_STEPS)},
    )


def amount(found: Amount) -> shapes.LessonAmount:
    """Return an amount with its text."""
    low, high = (None if x is None else _finite(x) for x in (found.low, found.high))
    return {
        "value": _finite(found.value),
        "unit": found.unit,
        "text": found.text(),
        "low": low,
        "high": high,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def judgement(answer: Mapping[str, Any]) -> shapes.Judgement:
    """Return the answer of the judge as a payload, with drawings of its counterexamples."""
    found = dict(answer)
    found["tests"] = [_test(t) for t in answer["tests"]]
    found["scores"] = [
        {**s, "value": _finite(s["value"]), "goal": _finite(s["goal"])} for s in answer["scores"]
    ]
    return cast(shapes.Judgement, found)


def _test(test: Mapping[str, Any]) -> dict[str, Any]:
    case = test.get("counterexample")
    if not case:
        return {k: v for k, v in test.items() if k != "counterexample"}
    texts = {k: case[k] for k in ("graph", "answer") if isinstance(case.get(k), str)}
    return {**test, "counterexample": {**case, "drawings": drawings(texts)}}
