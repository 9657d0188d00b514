"""References of the prose to results: `{{name.field|filter}}`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from compiler.dataclass import dataclass
from compiler.errors import CompileError, Where
from course.format.kind import NAME
from course.format.lesson import Lesson, Prose

_REFERENCE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference: the name of a block, the path to one of its results, and a filter or ""."""

    block: str
    path: tuple[str, ...]
    filter: str = ""

    def __str__(self) -> str:
        inside = ".".join((self.block, *self.path))
        return f"{{{{{inside}|{self.filter}}}}}" if self.filter else f"{{{{{inside}}}}}"


def parse_reference(text: str, where: Where | None = None) -> Reference:
    """Parse `name.field.field|filter`. Errors: E-LESSON-TEXT."""
    path, bar, chosen = (part.strip() for part in text.strip().partition("|"))
    names = path.split(".")
    fits = len(text) <= _LONGEST and len(names) >= 2 and all(NAME.match(n) for n in names)
    if not fits or (bar and not NAME.match(chosen)):
        message = f"expected a reference such as trips.fused.bytes, got {text.strip()[:60]!r}"
        raise CompileError("E-LESSON-TEXT", message, where=where)
    return Reference(names[0], tuple(names[1:]), chosen)


def references(text: str, source: str = "", line: int = 1) -> Iterator[tuple[Where, Reference]]:
    """Yield the references of a text with their positions. Errors: E-LESSON-TEXT."""
    for found in _REFERENCE.finditer(text):
        before = text[: found.start()]
        column = found.start() - (before.rfind("\n") + 1) + 1
        where = Where(source, line + before.count("\n"), column, len(found[0]))
        yield where, parse_reference(found[1], where)


def references_of(lesson: Lesson) -> Iterator[tuple[Where, Reference]]:
    """Yield the references of all prose of a lesson. Errors: E-LESSON-TEXT."""
    for part in lesson.parts:
        if isinstance(part, Prose):
            yield from references(part.text, lesson.source, part.line)


def filled(text: str, value_of: Callable[[Reference], str]) -> str:
    """Return a text with the value of each reference in its place. Errors: E-LESSON-TEXT."""
    return _REFERENCE.sub(lambda found: value_of(parse_reference(found[1])), text)
