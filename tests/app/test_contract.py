"""Tests that the files generated from the wire shapes are up to date, and all shapes are used."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields

import pytest

from app.api import ROUTES
from app.api.openapi import description
from app.contract import COMMAND, PAGE, TYPES, page, topics, typescript
from app.wire.requests import JobRequest, Options
from app.wire.shapes import fields_of_shape, jobs
from app.wire.shapes.events import EVENTS
from tests.app.schema import check


def test_the_types_of_the_page_are_those_of_the_shapes(repository):
    assert (repository / TYPES).read_text(encoding="utf-8") == typescript(), f"run {COMMAND}"


def test_the_tables_of_the_documentation_are_those_of_the_shapes(repository):
    text = (repository / PAGE).read_text(encoding="utf-8")
    assert text == page(text), f"run {COMMAND}"


def test_no_shape_is_left_over_and_no_two_have_one_name():
    names = [shape.name for topic in topics() for shape in topic.shapes]
    assert len(names) == len(set(names))
    bases = {
        "CutText",
        "Marks",
        "ScheduleVerdict",
        "StageFacts",
        "TextDiff",
        "Times",
        "KernelLevels",
    }
    events = {shape.__name__ for shape in EVENTS.values()}
    assert set(names) - bases - events == set(description(ROUTES)["components"]["schemas"])


@pytest.mark.parametrize(
    ("read", "shape"), [(JobRequest, jobs.JobRequest), (Options, jobs.JobOptions)]
)
def test_the_fields_of_a_request_are_those_that_are_read(read, shape):
    declared = fields_of_shape(shape)
    assert declared.keys() == {f.name for f in fields(read)}
    without = {f.name for f in fields(read) if f.default is f.default_factory is MISSING}
    assert {name for name, field in declared.items() if field.is_required} == without


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"edges": [["a", "b", 0, "v"]]}, None),
        ({"edges": [["a", "b", 0]]}, "edges"),
        ({"edges": [["a", "b", "0", "v"]]}, "edges"),
        ({"added": None}, "added"),
        ({"more": 1}, "more"),
        ({"nodes": [{"id": "n"}]}, "nodes"),
    ],
)
def test_a_payload_of_another_shape_is_found(value, place):
    payload = {
        "version": 1, "stage": 0, "graph_stage": 0, "name": "imported", "nodes": [], "edges": [],
        "constants": [], "added": [], "changed": [], "refined": [], "removed": [],
        **value,
    }  # fmt: skip
    described = description(ROUTES)
    schema = described["components"]["schemas"]["StageGraph"]
    if place is None:
        check(payload, schema, described)
        return
    with pytest.raises(AssertionError, match=re.escape(place)):
        check(payload, schema, described)
