"""A lesson's folder: the text, and the exercises with their solutions and wrong solutions.

    70-fusion/
      lesson.md
      exercise-1/
        exercise.toml
        solution.py

The skeleton is derived from the solution: lines between two markers are replaced by the text after
the first marker's colon.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from compiler.dataclass import dataclass
from compiler.errors import CompileError, Where
from course.blocks.all import read_lesson
from course.format.front import FOLDER
from course.format.lesson import Lesson
from course.format.limits import MOST_CHARACTERS
from course.format.toml import Table, read_toml
from course.judging.exercise import CODE, KINDS, Exercise

TEXT = "lesson.md"
DECLARATION = "exercise.toml"
EXERCISE = re.compile(r"exercise-[1-9]\d?\Z")
MOST_BYTES = 4 * MOST_CHARACTERS

BEGIN = re.compile(r"\s*(?:#|//) solution(?::(?P<instead>.*))?\n?\Z")
END = re.compile(r"\s*(?:#|//) end of the solution\n?\Z")

_KEYS = ("kind", "title", "task", "hints", "discussion", "settings", "wrong", "start")


@dataclass(frozen=True, slots=True)
class Wrong:
    """A wrong solution: its name, its text, and the part of a message that its author expects."""

    name: str
    text: str
    expects: str


@dataclass(frozen=True)
class Folder:
    """The folder of an exercise: the exercise, its solution, and its wrong solutions."""

    path: Path
    exercise: Exercise
    solution: str
    discussion: str
    wrong: tuple[Wrong, ...]


def read_text(path: Path) -> str:
    """Return the text of a file within limits. Errors: E-LESSON-FOLDER, E-LESSON-SIZE."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            message = f"{path.name} has more than {MOST_BYTES:,} bytes"
            raise CompileError("E-LESSON-SIZE", message, where=Where(str(path)))
        return data.decode("utf-8").replace("\r\n", "\n")
    except OSError as e:
        message = f"{path.name} cannot be read: {e.strerror}"
        raise CompileError("E-LESSON-FOLDER", message, where=Where(str(path))) from None
    except UnicodeDecodeError:
        message = f"{path.name} is not UTF-8"
        raise CompileError("E-LESSON-FOLDER", message, where=Where(str(path))) from None


def skeleton_of(solution: str) -> str:
    """Return a solution without the lines between its markers. Errors: E-EXERCISE-FORM."""
    kept, inside = list[str](), False
    for number, line in enumerate(solution.splitlines(keepends=True), 1):
        begin = BEGIN.match(line)
        if begin and not inside:
            inside = True
            if (begin["instead"] or "").strip():
                indent = line[: len(line) - len(line.lstrip())]
                kept.append(f"{indent}{begin['instead'].strip()}\n")
        elif END.match(line) and inside:
            inside = False
        elif begin or END.match(line):
            where = Where("solution", number, 1)
            raise CompileError(CODE, "a marker of a solution has no partner", where=where)
        elif not inside:
            kept.append(line)
    if inside:
        raise CompileError(CODE, "a solution's marker has no end", where=Where("solution"))
    return "".join(kept)


def without_markers(solution: str) -> str:
    """Return a solution as readers see it."""
    lines = solution.splitlines(keepends=True)
    return "".join(x for x in lines if not BEGIN.match(x) and not END.match(x))


def read_exercise(path: Path) -> Folder:
    """Read the folder of an exercise. Errors: E-EXERCISE-FORM, E-LESSON-FOLDER."""
    import_module("course.exercises")  # Declares the kinds.
    file = path / DECLARATION
    t = read_toml(read_text(file), Where(str(file), 1, 1), CODE).only(*_KEYS)
    kind = t.text("kind")
    if kind not in KINDS:
        raise t.fail(f"no kind of exercise is named {kind!r:.40}; kinds: {', '.join(KINDS)}")
    solution = read_text(path / KINDS[kind].file)
    start = t.text("start", "")
    exercise = Exercise(
        f"{path.parent.name}/{path.name}",
        kind,
        t.text("title"),
        t.text("task"),
        t.texts("hints"),
        t.table("settings").values,
        start or skeleton_of(solution),
        str(file),
    )
    exercise.typed_settings()
    shown = without_markers(solution)
    wrong = tuple(_wrong(x, shown) for x in t.tables("wrong", ()))
    names = [w.name for w in wrong]
    if len(set(names)) < len(names):
        raise t.fail("two wrong solutions have the same name")
    return Folder(path, exercise, shown, t.text("discussion", ""), wrong)


def _wrong(t: Table, solution: str) -> Wrong:
    """Read a wrong solution: its text, or replacements in the solution."""
    t.only("name", "text", "replace", "expects")
    name, text = t.text("name"), t.text("text", "")
    if "text" not in t.values:
        text = solution
        for old, new in _pairs(t):
            if text.count(old) != 1:
                n = text.count(old)
                raise t.fail(f"{name}: the solution has {old!r:.60} {n} times, not once")
            text = text.replace(old, new)
    if text == solution:
        raise t.fail(f"{name}: the wrong solution equals the solution")
    return Wrong(name, text, t.text("expects"))


def _pairs(t: Table) -> list[tuple[str, str]]:
    pairs: Any = t.values.get("replace")
    right = isinstance(pairs, list) and bool(pairs)
    if not right or not all(
        isinstance(p, list) and len(p) == 2 and all(isinstance(x, str) for x in p) for p in pairs
    ):
        raise t.fail("a wrong solution has a text, or `replace` with pairs of texts")
    return [(p[0], p[1]) for p in pairs]


@dataclass(frozen=True)
class LessonFolder:
    """The folder of a lesson; the text and the exercises are read on demand."""

    path: Path

    @property
    def name(self) -> str:
        """The name of the folder, which is the name of the lesson."""
        return self.path.name

    @cached_property
    def lesson(self) -> Lesson:
        """The lesson. Errors: E-LESSON-*."""
        source = f"{self.name}/{TEXT}"
        lesson = read_lesson(read_text(self.path / TEXT), source)
        number = int(self.name.split("-")[0])
        if not FOLDER.match(self.name) or lesson.front.number != number:
            message = f"the front matter has the number {lesson.front.number}, the folder {number}"
            raise CompileError("E-LESSON-FOLDER", message, where=Where(source, 2, 1))
        return lesson

    @cached_property
    def exercises(self) -> Mapping[str, Folder]:
        """The exercises by the name of their folder. Errors: E-EXERCISE-FORM, E-LESSON-FOLDER."""
        found = sorted(p for p in self.path.iterdir() if EXERCISE.match(p.name) and p.is_dir())
        return {p.name: read_exercise(p) for p in found}
