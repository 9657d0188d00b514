"""The lessons that this server shows: those that ship, and those of the setting `lessons`."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from flask import current_app

from app.paths import site_folder
from compiler.errors import CompileError
from course.catalogue import Catalogue, folders_of_lessons, read_catalogue
from course.format.lesson import Lesson
from course.judging.exercise import Exercise
from course.lessons import DECLARATION, TEXT, Folder, LessonFolder, read_text


@dataclass(frozen=True, slots=True)
class Shown:
    """A lesson with its exercises, as they were in its files at one time."""

    name: str
    text: str
    lesson: Lesson
    exercises: Mapping[str, Folder]
    is_foreign: bool

    @property
    def digest(self) -> str:
        """The digest of the text, which is part of the request of a run."""
        return hashlib.blake2b(self.text.encode(), digest_size=12).hexdigest()


class Library:
    """Reads lessons; files that changed are read again.

    `folders` is the setting `lessons`: folders of further lessons, separated as in PATH.
    """

    def __init__(self, folders: str) -> None:
        self.shipped = site_folder("lessons")
        self.folders = folders
        self._lock = threading.Lock()
        self._catalogue: tuple[object, Catalogue] | None = None
        self._shown: dict[str, tuple[object, Shown]] = {}

    def catalogue(self) -> Catalogue:
        """Return the map of the course. Errors: E-LESSON-FOLDER, E-LESSON-FRONT."""
        folders = [f for f in folders_of_lessons(self.shipped, self.folders) if _is_of_use(f)]
        state = _state(sorted({p for f in folders for p in _texts(f)}))
        with self._lock:
            if self._catalogue is None or self._catalogue[0] != state:
                self._catalogue = (state, read_catalogue(folders))
            return self._catalogue[1]

    def lesson(self, name: str) -> Shown:
        """Return a lesson by the name of its folder.

        Errors: E-REQUEST-UNKNOWN, E-LESSON-*, E-EXERCISE-FORM.
        """
        found = self.catalogue().lessons.get(name)
        if found is None:
            raise CompileError("E-REQUEST-UNKNOWN", f"there is no lesson {name[:60]!r}")
        path = found.path
        state = _state(sorted(p for p in path.rglob("*") if p.is_file()))
        with self._lock:
            kept = self._shown.get(name)
        if kept is not None and kept[0] == state:
            return kept[1]
        folder = LessonFolder(path)  # reads its files anew
        is_foreign = not path.resolve().is_relative_to(self.shipped.resolve())
        text = read_text(path / TEXT)
        made = Shown(name, text, folder.lesson, folder.exercises, is_foreign)
        with self._lock:
            self._shown[name] = (state, made)
        return made

    def exercise(self, lesson: str, exercise: str) -> Folder:
        """Return an exercise by the names of its lesson and folder. Errors: those of `lesson`."""
        found = self.lesson(lesson).exercises.get(exercise)
        if found is None:
            message = f"the lesson {lesson} has no exercise {exercise[:60]!r}"
            raise CompileError("E-REQUEST-UNKNOWN", message)
        return found


def library() -> Library:
    """Return the library of this application."""
    return cast(Library, current_app.extensions["library"])


def digest_of(exercise: Exercise) -> str:
    """Return the digest of an exercise, which is part of the request of a judgement."""
    text = json.dumps(exercise.to_json(), sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


def _is_of_use(folder: Path) -> bool:
    """Return whether a folder exists; a program without its own lessons still starts."""
    return folder.is_dir() or folder != site_folder("lessons")


def _texts(folder: Path) -> list[Path]:
    return [folder / TEXT, *folder.glob(f"*/{TEXT}"), *folder.glob(f"*/exercise-*/{DECLARATION}")]


def _state(paths: list[Path]) -> object:
    """Return a value that changes when a file does."""
    found: list[tuple[str, int, int]] = []
    for path in paths:
        try:
            stat = path.stat()
        except OSError:
            continue
        found.append((str(path), stat.st_mtime_ns, stat.st_size))
    return found
