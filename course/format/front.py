"""The front matter of a lesson."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field

from compiler.dataclass import dataclass
from compiler.errors import CompileError, Where
from course.format.toml import Table, read_toml, write_toml

FENCE = "+++"
FOLDER = re.compile(r"\d{1,4}-[a-z0-9]+(?:-[a-z0-9]+)*\Z")
"""The name of a lesson's folder: a number, then words."""

_KEYS = (
    "title", "goal", "question", "part", "number", "prerequisites", "minutes", "terms",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Front:
    """The front matter: what a lesson teaches, and its place on the map.

    `terms` maps each new term to one sentence that explains it.
    """

    title: str
    goal: str
    question: str
    part: int
    number: int
    minutes: int
    prerequisites: tuple[str, ...] = ()
    terms: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        values = {name: getattr(self, name) for name in _KEYS}
        return write_toml({k: v for k, v in values.items() if v not in ((), {})})


def parse_front(text: str, where: Where) -> Front:
    """Parse the front matter. Errors: E-LESSON-FRONT."""
    table = read_toml(text, where, "E-LESSON-FRONT").only(*_KEYS)
    front = Front(
        table.text("title"),
        table.text("goal"),
        table.text("question"),
        table.integer("part"),
        table.integer("number"),
        table.integer("minutes"),
        table.texts("prerequisites", ()),
        _terms(table),
    )
    for name in ("title", "goal", "question"):
        if "\n" in getattr(front, name):
            raise table.fail(f"{name} must be one line")
    if not 1 <= front.minutes <= 240:
        raise table.fail(f"minutes must be from 1 to 240, got {front.minutes}")
    if not 0 < front.number < 10_000:
        raise table.fail(f"number must be from 1 to 9999, got {front.number}")
    for name in front.prerequisites:
        if not FOLDER.match(name):
            raise table.fail(f"{name!r:.60} is not the name of a lesson, such as 70-fusion")
    return front


def split_front(lines: Sequence[str], source: str) -> tuple[Front, int]:
    """Return the front matter of a lesson's lines, and the position of the line after it.

    Errors: E-LESSON-FRONT.
    """
    hint = f"begin the file with {FENCE}, the front matter in TOML, and {FENCE}"
    message = f"expected front matter between two lines {FENCE}"
    if lines and lines[0].strip() == FENCE:
        for i, line in enumerate(lines[1:], 1):
            if line.strip() == FENCE:
                return parse_front("".join(lines[1:i]), Where(source, 2, 1)), i + 1
        message = f"the front matter has no end: no second line {FENCE}"
    raise CompileError("E-LESSON-FRONT", message, where=Where(source, 1, 1), hint=hint)


def _terms(table: Table) -> Mapping[str, str]:
    terms = table.table("terms", {})
    return {name: terms.text(name) for name in terms.values}
