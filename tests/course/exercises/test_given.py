"""Tests of the texts that exercises show with their tasks."""

from __future__ import annotations

from pathlib import Path

import pytest

from course.judging.exercise import Exercise, exercise_of
from course.lessons import LessonFolder

LESSONS = Path(__file__).resolve().parents[3] / "lessons"
EXERCISES = [
    (folder.name, name, exercise.exercise)
    for folder in sorted(LESSONS.glob("*-*"))
    for name, exercise in LessonFolder(folder).exercises.items()
]


@pytest.mark.parametrize(
    ("lesson", "name", "exercise"), EXERCISES, ids=[f"{a}/{b}" for a, b, _ in EXERCISES]
)
def test_an_exercise_shows_the_graphs_and_loops_of_its_task(
    lesson: str, name: str, exercise: Exercise
) -> None:
    given = {each["title"]: each["text"] for each in exercise.to_json()["given"]}
    graphs = exercise.settings.get("graph", [])
    for graph in graphs if isinstance(graphs, list) else [graphs]:
        assert graph["text"].strip() in given.values()
    if "computation" in exercise.settings:
        assert "for " in given["its loops without a schedule"]
    passes = exercise.settings.get("passes", [])
    assert "\n".join(passes) == given.get("The passes to choose from", "")


def test_goals_have_units_and_holes_their_values() -> None:
    made = exercise_of(
        {
            "id": "a/b",
            "kind": "write_rule",
            "settings": {
                "rules": ["a_rule"],
                "graph": [
                    {
                        "name": "chain",
                        "text": "graph g(x: {T}[{N},5]) { y = neg(x) return y }",
                        "types": ["f32", "f64"],
                        "sizes": {"N": [2, 7]},
                        "goals": {"bytes": 4800, "nodes": 1},
                    }
                ],
            },
        }
    )
    [given] = made.to_json()["given"]
    assert given["title"] == "chain"
    assert given["goals"] == ["bytes ≤ 4.8 kB", "nodes ≤ 1", "{T} is f32 or f64", "{N} is 2 or 7"]
