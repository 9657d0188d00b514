"""The parser of `lesson.md`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence

from compiler.dataclass import dataclass
from compiler.errors import CompileError, Where
from course.format.front import split_front
from course.format.kind import Kind, Value
from course.format.lesson import WORD, Block, Lesson, Part, Prose
from course.format.limits import LONGEST_VALUE, MOST_BLOCKS, MOST_OPTIONS, checked

_OPENS = re.compile(r"(`{3,})\s*([A-Za-z_]\w*)?\s*(.*)\Z")
_TOKEN = re.compile(r'\s*([A-Za-z_]\w*)\s*=\s*("(?:[^"\\]|\\.)*"|[^\s{}"=]+)')
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?([eE][-+]?\d+)?\Z")


def parse_lesson(text: str, source: str, kinds: Mapping[str, Kind]) -> Lesson:
    """Parse the text of a lesson, with the kinds of blocks that it may contain.

    Errors: E-LESSON-*, with the file and the line.
    """
    return _Parser(checked(text, source), source, kinds).lesson()


@dataclass(slots=True)
class _Parser:
    text: str
    source: str
    kinds: Mapping[str, Kind]

    def fail(
        self, message: str, line: int, code: str = "E-LESSON-TEXT", hint: str = ""
    ) -> CompileError:
        return CompileError(code, message, where=Where(self.source, line, 1), hint=hint)

    def lesson(self) -> Lesson:
        lines = self.text.splitlines(keepends=True)
        if lines and not lines[-1].endswith("\n"):
            lines[-1] += "\n"
        front, first = split_front(lines, self.source)
        parts = self.parts(lines, first)
        names: dict[str, int] = {}
        for b in parts:
            if isinstance(b, Block) and b.name:
                if b.name in names:
                    message = f"the name {b.name!r} is already that of the block of line "
                    raise self.fail(f"{message}{names[b.name]}", b.line, "E-LESSON-BLOCK")
                names[b.name] = b.line
        return Lesson(front, tuple(parts), self.source)

    def parts(self, lines: Sequence[str], at: int) -> list[Part]:
        parts, prose, begin = list[Part](), list[str](), at
        while at < len(lines):
            opening = _OPENS.match(lines[at].rstrip("\n"))
            if opening is None:
                prose.append(lines[at])
                at += 1
                continue
            end = self.end_of(lines, at, len(opening[1]))
            if opening[2]:
                if prose:
                    parts.append(Prose("".join(prose), begin + 1))
                parts.append(self.block(opening, lines, at, end))
                prose, begin = [], end + 1
            else:
                prose += lines[at : end + 1]
            at = end + 1
            if len(parts) > MOST_BLOCKS:
                message = f"the lesson has more than {MOST_BLOCKS} blocks"
                raise self.fail(message, at, "E-LESSON-SIZE")
        if prose:
            parts.append(Prose("".join(prose), begin + 1))
        return parts

    def end_of(self, lines: Sequence[str], at: int, n_ticks: int) -> int:
        """Return the position of the closing fence."""
        fence = "`" * n_ticks
        for i in range(at + 1, len(lines)):
            if lines[i].strip() == fence and lines[i].startswith("`"):
                return i
        raise self.fail(f"the fence is not closed: no line {fence} follows", at + 1)

    def block(self, opening: re.Match[str], lines: Sequence[str], at: int, end: int) -> Block:
        name, line, where = opening[2], at + 1, Where(self.source, at + 1, 1)
        kind = self.kinds.get(name)
        if kind is None:
            message = f"no kind of block is named {name!r:.40}; kinds: {', '.join(self.kinds)}"
            hint = "a fence without a kind shows plain code"
            raise CompileError("E-LESSON-BLOCK", message, where=where, hint=hint)
        options = kind.bind(self.options(opening[3].strip(), line), where)
        body = "".join(lines[at + 1 : end])
        if kind.body == "none" and body.strip():
            raise self.fail(f"a block {name} has no body", line + 1, "E-LESSON-BLOCK")
        content = kind.read(body, Where(self.source, line + 1, 1))
        return Block(name, options, body, line, content)

    def options(self, text: str, line: int) -> dict[str, Value]:
        """Parse `{key=value ...}`."""
        if not text:
            return {}
        if not (text.startswith("{") and text.endswith("}")):
            hint = "write options as {key=value key=value}"
            raise self.fail(f"expected options in braces, got {text[:60]!r}", line, hint=hint)
        rest, found = text[1:-1], dict[str, Value]()
        while rest.strip():
            token = _TOKEN.match(rest)
            if token is None:
                raise self.fail(f"expected key=value, got {rest.strip()[:60]!r}", line)
            if token[1] in found:
                raise self.fail(f"the option {token[1]} is given twice", line)
            found[token[1]] = self.value(token[2], line)
            rest = rest[token.end() :]
            if len(found) > MOST_OPTIONS:
                raise self.fail(f"more than {MOST_OPTIONS} options", line, "E-LESSON-SIZE")
        return found

    def value(self, text: str, line: int) -> Value:
        if len(text) > LONGEST_VALUE:
            message = f"a value has {len(text):,} characters; the limit is {LONGEST_VALUE:,}"
            raise self.fail(message, line, "E-LESSON-SIZE")
        if text.startswith('"'):
            try:
                return json.loads(text)
            except ValueError:
                raise self.fail(f"the text {text[:60]} has an unknown escape", line) from None
        if text in ("true", "false"):
            return text == "true"
        if (number := _NUMBER.match(text)) and len(text) <= 40:
            found = float(text) if number[1] or number[2] else int(text)
            if math.isfinite(found):
                return found
        if not WORD.match(text):
            hint = "put the value in quotes"
            raise self.fail(f"expected a word, a number or a quoted text, got {text[:60]!r}", line,
                      hint=hint)  # fmt: skip
        return text
