"""Tests that every lesson that ships passes its check, with short measurements."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.samples import sample_graph
from compilarium.lesson import _panes
from compiler.ir.types import TensorType
from course.catalogue import PLACES, read_catalogue
from course.checking.check import check_lesson

LESSONS = Path(__file__).resolve().parents[2] / "lessons"
CATALOGUE = read_catalogue([LESSONS])


def test_the_map_lists_the_lessons_that_ship() -> None:
    assert "70-fusion" in CATALOGUE.lessons
    assert {e.place.number for e in CATALOGUE.entries} == PLACES.keys()


def test_samples_have_fixed_sizes_and_weights_that_differ() -> None:
    for name in ("digits_mlp", "squeezenet"):
        graph = sample_graph(name)
        assert all(isinstance(v.type, TensorType) and v.type.is_static for v in graph.inputs)
        large = [c for c in graph.constants.values() if c.type.nbytes > 4_000]
        assert large
        assert not any(c.is_splat for c in large)


@pytest.mark.parametrize("name", CATALOGUE.lessons)
def test_a_lesson_passes_its_check(name: str) -> None:
    lesson = CATALOGUE.lesson(name)
    report = check_lesson(lesson, load=sample_graph, panes=_panes(), seconds=0.02)
    assert report.ok, "\n".join(map(str, report.problems))


@pytest.mark.parametrize("name", CATALOGUE.lessons)
def test_the_page_gets_no_solutions(name: str) -> None:
    for folder in CATALOGUE.lesson(name).exercises.values():
        shown = str(folder.exercise.to_json())
        assert folder.solution not in shown
        assert not any(w.text in shown for w in folder.wrong if len(w.text) > 30)
