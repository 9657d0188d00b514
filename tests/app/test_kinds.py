"""Tests of the kinds of jobs: declared once, available, and strict about undeclared fields."""

from __future__ import annotations

from dataclasses import fields

import pytest

from app.api import ROUTES
from app.jobs.kinds import ABOUT_A_RESULT, KINDS
from app.jobs.place import PlaceRequest
from app.jobs.tune import TuneRequest
from app.wire.asked import Asked
from app.wire.fields import number
from compiler.errors import CompileError


def test_every_kind_is_started_by_one_route():
    bodies = [r.body for r in ROUTES if isinstance(r.body, type) and issubclass(r.body, Asked)]
    assert len(bodies) == len(ABOUT_A_RESULT)
    assert set(bodies) == set(ABOUT_A_RESULT)
    assert len(KINDS) == 4 + len(ABOUT_A_RESULT), "two kinds have the same name"


def test_a_request_has_its_kind_and_all_defaults():
    asked = PlaceRequest.from_json("an id", {"platform": "gpu", "ahead": 2})
    assert asked.to_json() == {
        "kind": "place",
        "job": "an id",
        "platform": "gpu",
        "scheduler": "iterated",
        "ahead": 2,
        "contention": True,
    }


def test_given_values_and_stricter_checks_take_the_place_of_the_declared_ones():
    given = {"budget_seconds": 3.0}
    assert TuneRequest.from_json("an id", {}, given, budget_seconds=number(1, 5)) == TuneRequest(
        "an id", budget_seconds=3.0
    )
    with pytest.raises(CompileError, match="budget_seconds: needed a number from 1 to 5, got 6"):
        TuneRequest.from_json("an id", {"budget_seconds": 6}, given, budget_seconds=number(1, 5))


@pytest.mark.parametrize("asked", ABOUT_A_RESULT, ids=lambda asked: asked.kind)
def test_what_is_no_field_of_the_body_is_refused(asked: type[Asked]):
    told_otherwise = {f.name for f in fields(asked)} - asked.checks().keys()
    assert "job" in told_otherwise
    for name in told_otherwise | {"kind"}:
        with pytest.raises(CompileError, match="needed only the fields"):
            asked.from_json("an id", {name: "x"})
