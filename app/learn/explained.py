"""The lesson that explains a term of the glossary or a pass; only lessons that exist count."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from app.glossary import terms
from app.learn.library import Library, Shown
from compiler.errors import CompileError
from compiler.passes import PASSES
from course.format.lesson import Lesson

_NAME = re.compile(r"[a-z]\w*")


@dataclass(frozen=True, slots=True)
class Explained:
    """The lesson that explains a word: its address and title."""

    address: str
    title: str


class Lessons:
    """Finds the lessons for terms and passes, and keeps what it found while no lesson changes."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._kept: tuple[object, Mapping[str, Explained], Mapping[str, Explained]] | None = None

    def of_terms(self) -> Mapping[str, Explained]:
        """Map the ids of terms to the first lesson that introduces the term."""
        return self._found()[0]

    def of_passes(self) -> Mapping[str, Explained]:
        """Map the names of passes to the lesson that runs the pass most often."""
        return self._found()[1]

    def _found(self) -> tuple[Mapping[str, Explained], Mapping[str, Explained]]:
        try:
            catalogue = self.library.catalogue()
        except CompileError:
            return {}, {}
        if self._kept is None or self._kept[0] is not catalogue:
            shown = list(_readable(self.library, list(catalogue.lessons)))
            self._kept = (catalogue, _of_terms(shown), _of_passes(shown))
        return self._kept[1], self._kept[2]


def _readable(library: Library, names: list[str]) -> Iterator[Shown]:
    for name in names:
        try:
            yield library.lesson(name)
        except CompileError:
            continue  # the page of this lesson shows the error


def _here(shown: Shown) -> Explained:
    return Explained(f"/learn/{shown.name}", shown.lesson.front.title)


def _of_terms(lessons: list[Shown]) -> Mapping[str, Explained]:
    known = {form.lower(): t.id for t in terms() for form in (t.name, *t.all_forms)}
    found: dict[str, Explained] = {}
    for shown in lessons:
        for term in shown.lesson.front.terms:
            if term.lower() in known:
                found.setdefault(known[term.lower()], _here(shown))
    return found


def _of_passes(lessons: list[Shown]) -> Mapping[str, Explained]:
    counts = {shown.name: Counter(_passes(shown.lesson)) for shown in lessons}
    found: dict[str, Explained] = {}
    for name in {name for each in counts.values() for name in each}:
        best = max(lessons, key=lambda shown: counts[shown.name][name])
        found[name] = _here(best)
    return found


def _passes(lesson: Lesson) -> Iterator[str]:
    """Yield the passes that the blocks of a lesson name; presets name no pass."""
    for block in lesson.blocks:
        texts: list[str] = []
        if block.kind == "pipeline":
            texts = [block.body]
        elif block.kind == "experiment":
            texts = [case.pipeline for case in block.content.cases.values()]
        yield from (name for text in texts for name in _NAME.findall(text) if name in PASSES)
