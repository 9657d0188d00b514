"""Tests of the check of a lesson: what it demands, and that it finds each violation."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import course
from course.checking.check import check_lesson
from course.lessons import LessonFolder

TEMPLATE = Path(course.__file__).parent / "template"
DISCUSSION = 'discussion = "The pass fuse suffices. Other passes of the list change nothing here."'
INCOMPLETE = [
    "1 block of kind experiment; a lesson has at least 3",
    "1 block of kind predict; a lesson has at least 2",
    "1 block of kind exercise; a lesson has at least 2",
    "2 wrong solutions; an exercise needs at least 6",
]


def copied(folder: Path, file: str = "", old: str = "", new: str = "") -> LessonFolder:
    path = folder / "1-first"
    shutil.copytree(TEMPLATE, path)
    if file:
        text = (path / file).read_text("utf-8")
        assert old in text
        (path / file).write_text(text.replace(old, new), "utf-8")
    return LessonFolder(path)


def problems(lesson: LessonFolder) -> list[str]:
    report = check_lesson(lesson, panes=["kernels"], seconds=0)
    return [p.message for p in report.problems]


def test_the_template_is_right_except_for_what_an_author_adds(tmp_path: Path) -> None:
    report = check_lesson(copied(tmp_path), panes=["kernels"], seconds=0)
    assert [p.message for p in report.problems] == INCOMPLETE
    assert {t.name for t in report.times} == {
        "chain",
        "trips",
        "guess",
        "1-first/exercise-1",
        "all",
    }
    assert all(t.seconds >= 0 for t in report.times)
    assert report.to_json()["ok"] is False


def test_without_measurements_a_reference_to_a_time_needs_no_value(tmp_path: Path) -> None:
    text = (TEMPLATE / "lesson.md").read_text("utf-8")
    measure = next(line for line in text.splitlines() if line.startswith("measure = "))
    lesson = copied(tmp_path, "lesson.md", measure, measure.replace("]", ', "seconds"]'))
    path = tmp_path / "1-first" / "lesson.md"
    case = "{{trips.fused.seconds}}"
    timed = path.read_text("utf-8").replace("{{trips.saved}}", f"{{{{trips.saved}}}} in {case}")
    path.write_text(timed, "utf-8")
    assert problems(LessonFolder(lesson.path)) == INCOMPLETE
    path.write_text(timed.replace("fused.seconds", "other.seconds"), "utf-8")
    assert any("no result 'other.seconds'" in p for p in problems(LessonFolder(lesson.path)))


VIEW = "```view {pane=kernels of=chain}\n```\n"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("exp(a)", "matmul(a, x)", "E-OP-SHAPE"),
        ("{{trips.saved}}", "{{trips.won}}", "trips has no result 'won'"),
        ("{{trips.saved}}", "{{trips.saved|miles}}", "no filter is named"),
        ("Explain one idea.", "Explain 17 ideas.", "the figure '17' is typed"),
        ("Explain one idea.", "[x](nothing.png)", "leads nowhere"),
        ("Explain one idea.", "word " * 30 + ".", "a sentence has 30 words"),
        ("feedback = \"Both", "feedback = \"" + "word " * 30 + "Both", "a sentence has 3"),
        ('about = "trips', 'about = "nothing', "no block 'nothing' has results"),
        ("folder=exercise-1", "folder=exercise-2", "there is no folder 'exercise-2'"),
        ("## Your turn", VIEW.replace("kernels", "nothing"), "no pane is named 'nothing'"),
        ("## Your turn", VIEW.replace("of=chain", "of=nothing"), "no block is named 'nothing'"),
        ("## Your turn", VIEW.replace("of=", "pipeline=fuze of="), "fuze"),
        ('"kernel" =', '"gizmo" =', "the term 'gizmo' is explained but not used"),
        ("number = 1", "number = 2", "the front matter has the number 2, the folder 1"),
    ],
)  # fmt: skip
def test_a_violation_of_the_text_is_found(old: str, new: str, words: str, tmp_path: Path) -> None:
    found = problems(copied(tmp_path, "lesson.md", old, new))
    assert any(words in message for message in found), found


def test_a_prediction_after_its_experiment_is_found(tmp_path: Path) -> None:
    lesson = copied(tmp_path)
    text = (lesson.path / "lesson.md").read_text("utf-8")
    begin, end = text.index("```predict"), text.index("```experiment")
    moved = text[:begin] + text[end:] + text[begin:end]
    (lesson.path / "lesson.md").write_text(moved, "utf-8")
    assert "the prediction guess stands after its experiment trips" in problems(lesson)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("goals = { kernels = 1 }", "goals = { kernels = 0 }", "the solution does not pass"),
        ('start = "none"', 'start = "fuse"', "the skeleton already passes"),
        ("fuse{policy=none}", "fuse{policy=xla}", "'a policy that fuses nothing' passes"),
        ("kernels: 3, the", "kernels: 4, the", "fails with another message"),
        ('  "Which pass puts several nodes into one kernel?",\n', "", "an exercise has 3 hints"),
        (DISCUSSION, "discussion = ''", "the discussion of the solution is missing"),
        ("Write a pipeline", "Write " + "very " * 30, "a sentence has"),
        ("[settings]", "[setings]", "E-EXERCISE-FORM"),
    ],
)
def test_a_violation_of_an_exercise_is_found(
    old: str, new: str, words: str, tmp_path: Path
) -> None:
    found = problems(copied(tmp_path, "exercise-1/exercise.toml", old, new))
    assert any(words in message for message in found), found


def test_without_measurements_references_to_times_are_not_checked(tmp_path: Path) -> None:
    old, new = 'measure = ["kernels", "bytes"]', 'measure = ["kernels", "bytes", "seconds"]'
    lesson = copied(tmp_path, "lesson.md", old, new)
    path = lesson.path / "lesson.md"
    text = path.read_text("utf-8")
    path.write_text(text.replace("{{trips.saved}}", "{{trips.fused.seconds}}"), "utf-8")
    assert problems(LessonFolder(lesson.path)) == INCOMPLETE
    path.write_text(text.replace("{{trips.saved}}", "{{trips.used.seconds}}"), "utf-8")
    assert "trips has no result 'used.seconds'" in problems(LessonFolder(lesson.path))[0]
