"""Tests of the map: places, folders of lessons, prerequisites, folders of exercises."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.errors import CompileError
from course.catalogue import COMING, PARTS, PLACES, folders_of_lessons, read_catalogue
from course.lessons import read_exercise, skeleton_of, without_markers
from tests.course.lessons import CHAIN, FRONT, lesson_text


def write_lesson(folder: Path, name: str, needs: str = "", part: int = 2, text: str = "") -> Path:
    path = folder / name
    path.mkdir(parents=True)
    number = name.split("-")[0]
    front = FRONT.replace("number = 70", f"number = {number}\nprerequisites = [{needs}]")
    front = front.replace("part = 2", f"part = {part}")
    whole = text or lesson_text(CHAIN)
    (path / "lesson.md").write_text(whole.replace(FRONT, front))
    return path


def test_the_map_has_all_places_in_six_parts() -> None:
    assert len(PLACES) == 28
    assert [*PLACES] == list(range(10, 290, 10))
    assert {p.part for p in PLACES.values()} == set(PARTS) == set(range(1, 7))
    assert {p.number for p in PLACES.values() if p.coming} == COMING == {220, 230, 240, 250, 280}


def test_a_new_folder_is_a_new_lesson(tmp_path: Path) -> None:
    write_lesson(tmp_path / "a", "70-fusion")
    write_lesson(tmp_path / "b", "75-more-fusion", '"70-fusion", "60-dead"')
    (tmp_path / "a" / "README.md").write_text("no lesson")
    folders = folders_of_lessons(tmp_path / "a", str(tmp_path / "b"))
    found = read_catalogue(folders)
    assert [*found.lessons] == ["70-fusion", "75-more-fusion"]
    assert len(found.entries) == 29
    assert [e.place.number for e in found.entries][5:9] == [60, 70, 75, 80]
    assert found.lesson("70-fusion").lesson.block("chain") is not None
    with pytest.raises(CompileError, match="no lesson is named '80-x'"):
        found.lesson("80-x")
    with pytest.raises(CompileError, match="no exercise 'exercise-1'"):
        found.exercise("70-fusion/exercise-1")


@pytest.mark.parametrize(
    ("lessons", "words"),
    [
        (
            [("70-a", '"80-b"'), ("80-b", '"90-c"'), ("90-c", '"70-a"')],
            "form a cycle: 70-a needs 80-b needs 90-c needs 70-a",
        ),
        ([("70-a", '"70-a"')], "form a cycle"),
        ([("70-a", '"75-x"')], "needs 75-x, which is not a lesson"),
        ([("70-a", ""), ("70-b", "")], "already that of 70-a"),
        ([("130-a", "")], "the part is 2; the place is in part 3"),
    ],
)  # fmt: skip
def test_contradictions_are_refused(
    lessons: list[tuple[str, str]], words: str, tmp_path: Path
) -> None:
    for name, needs in lessons:
        write_lesson(tmp_path, name, needs)
    with pytest.raises(CompileError, match="E-LESSON-FOLDER") as caught:
        read_catalogue([tmp_path])
    assert words in str(caught.value)


def test_a_folder_and_its_front_matter_have_the_same_number(tmp_path: Path) -> None:
    path = write_lesson(tmp_path, "70-fusion")
    path.rename(tmp_path / "80-fusion")
    with pytest.raises(CompileError, match="another number"):
        read_catalogue([tmp_path])
    with pytest.raises(CompileError, match="no such folder"):
        read_catalogue([tmp_path / "nothing"])


def test_hostile_files_are_errors(tmp_path: Path) -> None:
    path = write_lesson(tmp_path, "70-fusion")
    (path / "lesson.md").write_bytes(b"\xff\xfe")
    with pytest.raises(CompileError, match="not UTF-8"):
        read_catalogue([tmp_path])
    (path / "lesson.md").write_bytes(b"x" * 2_000_000)
    with pytest.raises(CompileError, match="E-LESSON-SIZE"):
        read_catalogue([tmp_path])
    (path / "lesson.md").unlink()
    with pytest.raises(CompileError, match="cannot be read"):
        read_catalogue([tmp_path])


SOLUTION = """from x import y

def rule(x):
    # solution: return None  # your code
    z = x
    return z
    # end of the solution
"""


def test_a_skeleton_is_made_of_the_solution() -> None:
    assert skeleton_of(SOLUTION) == (
        "from x import y\n\ndef rule(x):\n    return None  # your code\n"
    )
    assert without_markers(SOLUTION).endswith("def rule(x):\n    z = x\n    return z\n")
    for wrong in ("# solution\nx\n", "# end of the solution\n", "# solution\n# solution\n"):
        with pytest.raises(CompileError, match="E-EXERCISE-FORM"):
            skeleton_of(wrong)


EXERCISE = """
kind = "predict"
title = "Bytes"
task = "How many bytes?"
hints = ["a", "b", "c"]
start = "0"

[settings]
quantity = "bytes"
graph.text = "graph g(x: f32[2,3]) {\\n  y = exp(x)\\n  return y\\n}"

[[wrong]]
name = "half"
replace = [["48", "24"]]
expects = "less than"
"""


def write_exercise(folder: Path, text: str) -> Path:
    path = folder / "70-fusion" / "exercise-1"
    path.mkdir(parents=True, exist_ok=True)
    (path / "exercise.toml").write_text(text)
    (path / "solution.txt").write_text("48\n")
    return path


def test_an_exercise_has_solution_skeleton_and_wrong_solutions(tmp_path: Path) -> None:
    found = read_exercise(write_exercise(tmp_path, EXERCISE))
    assert (found.exercise.id, found.exercise.skeleton) == ("70-fusion/exercise-1", "0")
    assert (found.solution, found.wrong[0].text) == ("48\n", "24\n")
    assert "solution" not in found.exercise.to_json()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"predict"', '"preditc"', "no kind of exercise"),
        ('"48", "24"', '"9", "24"', "0 times, not once"),
        ('"48", "24"', '"48", "48"', "equals the solution"),
        ("replace", "replaces", "is unknown"),
        ('[["48", "24"]]', '"x"', "pairs of texts"),
        ('title = "Bytes"', "", "'title' is missing"),
        ('quantity = "bytes"', 'quantity = "bites"', "no quantity"),
        ("[settings]", "[settings", "cannot be read"),
    ],
)
def test_a_wrong_declaration_is_refused(old: str, new: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="E-EXERCISE-FORM") as caught:
        read_exercise(write_exercise(tmp_path, EXERCISE.replace(old, new)))
    assert words in str(caught.value)
