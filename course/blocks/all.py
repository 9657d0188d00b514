"""All kinds of blocks, and the reading of a lesson's text."""

from __future__ import annotations

from collections.abc import Mapping

from course.blocks.experiment import experiment
from course.blocks.graph import graph
from course.blocks.pipeline import pipeline
from course.blocks.planner import planner
from course.blocks.python import python
from course.blocks.questions import predict, why
from course.blocks.schedule import schedule
from course.blocks.shown import exercise, view
from course.format.kind import Kind
from course.format.lesson import Lesson
from course.format.parse import parse_lesson

BLOCKS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        graph, python, schedule, pipeline, planner, predict, experiment, view, why, exercise
    )
}  # fmt: skip


def read_lesson(text: str, source: str = "lesson.md") -> Lesson:
    """Parse a lesson with all kinds of blocks. Errors: E-LESSON-*."""
    return parse_lesson(text, source, BLOCKS)
