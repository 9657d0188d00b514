"""The parts of a lesson, and their printing; `parse.py` parses the printed text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from compiler.dataclass import dataclass
from compiler.errors import Where
from course.format.front import FENCE, Front
from course.format.kind import Value

WORD = re.compile(r"[A-Za-z_][\w./+-]*\Z")
"""A value of an option that needs no quotes."""

_NOT_TEXT = ("true", "false")
_TICKS = re.compile(r"`{3,}")


@dataclass(frozen=True, slots=True)
class Prose:
    """Markdown between blocks; `text` ends with a line feed."""

    text: str
    line: int = field(default=0, compare=False)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Block:
    """A block: its kind, the options given, and its body.

    `content` is the body as parsed by its kind. `line` is the line of the opening fence.
    """

    kind: str
    options: Mapping[str, Value]
    body: str
    line: int = field(default=0, compare=False)
    content: Any = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """The name of the block, or ""."""
        return str(self.options.get("name", ""))

    def __str__(self) -> str:
        longest = max((len(m[0]) for m in _TICKS.finditer(self.body)), default=2)
        fence = "`" * max(3, longest + 1)
        options = " ".join(f"{k}={value_text(v)}" for k, v in self.options.items())
        head = f"{self.kind} {{{options}}}" if options else self.kind
        return f"{fence}{head}\n{self.body}{fence}\n"


Part = Prose | Block


def value_text(value: Value) -> str:
    """Return the text of an option's value, with quotes if necessary."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        bare = WORD.match(value) and value not in _NOT_TEXT
        return value if bare else json.dumps(value, ensure_ascii=False)
    return repr(value)


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a lesson: its title, and the parts until the next title."""

    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Lesson:
    """A lesson: front matter and parts. `source` names the file in errors."""

    front: Front
    parts: tuple[Part, ...]
    source: str = field(default="lesson.md", compare=False)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks that are not prose."""
        return tuple(p for p in self.parts if isinstance(p, Block))

    def block(self, name: str) -> Block | None:
        """Return the block of this name."""
        return next((b for b in self.blocks if b.name == name), None)

    def where(self, part: Part) -> Where:
        """Return the position of a part."""
        return Where(self.source, part.line, 1)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps: each heading `## ` begins one; the text before the first is the introduction.

        Headings inside fences of plain code do not count.
        """
        found = [Step("", ())]
        for part in self.parts:
            pieces = _pieces(part) if isinstance(part, Prose) else iter([("", part)])
            for title, piece in pieces:
                if title:
                    found.append(Step(title, ()))
                last = found[-1]
                found[-1] = Step(last.title, (*last.parts, piece))
        return tuple(s for s in found if s.title or _says_something(s))

    def __str__(self) -> str:
        return f"{FENCE}\n{self.front}{FENCE}\n" + "".join(map(str, self.parts))


def _says_something(step: Step) -> bool:
    return any(isinstance(p, Block) or p.text.strip() for p in step.parts)


def _pieces(prose: Prose) -> Iterator[tuple[str, Prose]]:
    """Yield the text of each step, with the title that begins it ("" before the first)."""
    title, lines, first, in_code = "", list[str](), prose.line, False
    for number, line in enumerate(prose.text.splitlines(keepends=True), prose.line):
        in_code ^= line.startswith("```")
        if line.startswith("## ") and not in_code:
            if lines or title:
                yield title, Prose("".join(lines), first)
            title, lines, first = line[3:].strip(), [], number + 1
        else:
            lines.append(line)
    if lines or title:
        yield title, Prose("".join(lines), first)
