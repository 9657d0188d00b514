"""Tests of the commands `lesson new`, `lesson check` and `lesson serve`."""

from pathlib import Path

import pytest

from app.config import Settings
from app.learn.library import Library
from app.paths import site_folder
from tests.compilarium.commands import invoke, told


def test_a_new_lesson_can_be_checked(tmp_path: Path) -> None:
    folder = tmp_path / "130-packing"
    facts = told("lesson", "new", folder)
    assert "exercise-1/exercise.toml" in facts["files"]
    assert any("1 block of kind experiment" in each for each in facts["missing"])
    text = (folder / "lesson.md").read_text()
    assert "number = 130" in text
    assert "part = 3" in text
    found = told("lesson", "check", folder, "--seconds", 0, code=1)
    (lesson,) = found["lessons"]
    assert lesson["lesson"] == "130-packing"
    assert {"1 block of kind experiment; a lesson has at least 3"} < {
        p["message"] for p in lesson["problems"]
    }
    assert all(p["source"] for p in lesson["problems"])


def test_problems_have_paths_relative_to_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outside of the current folder, paths are absolute."""
    monkeypatch.chdir(tmp_path)
    missing = told("lesson", "new", Path("own", "145-order"))["missing"]
    assert [line.partition(": ")[0] for line in missing] == [
        *["own/145-order/lesson.md"] * 3,
        "own/145-order/exercise-1/exercise.toml:1",
    ]
    assert "part = 3" in Path("own/145-order/lesson.md").read_text("utf-8")
    (tmp_path / "apart").mkdir()
    monkeypatch.chdir("apart")
    shown = invoke("lesson", "check", "../own/145-order", "--seconds", 0).output
    assert "1 lesson, 4 problems" in shown
    assert str(tmp_path / "own/145-order/lesson.md") in shown.replace("\n", "")


def test_a_folder_is_not_overwritten(tmp_path: Path) -> None:
    error = told("lesson", "new", tmp_path / "Packing", code=1)["error"]
    assert error["code"] == "E-LESSON-FOLDER"
    (tmp_path / "75-x").mkdir()
    assert "exists already" in told("lesson", "new", tmp_path / "75-x", code=1)["error"]["message"]


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only one lesson ships; tests/course/test_shipped_lessons.py checks all lessons."""
    folder = tmp_path / "shipped"
    folder.mkdir()
    name = "20-reading-a-graph"
    (folder / name).symlink_to(site_folder("lessons") / name)
    others = site_folder
    monkeypatch.setattr(
        "app.paths.site_folder", lambda name: folder if name == "lessons" else others(name)
    )


@pytest.mark.usefixtures("shipped")
def test_check_without_folders_checks_the_map(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The map contains lessons outside of the repository."""
    shown = invoke("lesson", "check", "--seconds", 0.01).output
    assert "20-reading-a-graph/exercise-2" in shown
    assert "1 lesson, 0 problems" in shown
    told("lesson", "new", tmp_path / "own" / "75-more-fusion")
    monkeypatch.setenv("COMPILARIUM_LESSONS", str(tmp_path / "own"))
    found = told("lesson", "check", "--seconds", 0.01, code=1)
    is_ok = {each["lesson"]: each["ok"] for each in found["lessons"]}
    assert is_ok == {"20-reading-a-graph": True, "75-more-fusion": False}


def test_serve_shows_the_lessons_of_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told("lesson", "new", tmp_path / "75-more-fusion")
    served: list[Settings] = []
    monkeypatch.setattr("app.serve.serve", lambda settings, say: served.append(settings))
    shown = invoke("lesson", "serve", tmp_path / "75-more-fusion", "--port", 0).output
    assert "/learn/75-more-fusion" in shown
    invoke("lesson", "serve", tmp_path, "--port", 8123)
    assert [each.lessons for each in served] == [str(tmp_path / "75-more-fusion"), str(tmp_path)]
    assert served[1].port == 8123
    for each in served:
        assert "75-more-fusion" in Library(each.lessons).catalogue().lessons
