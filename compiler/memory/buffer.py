"""Buffers with lifetimes, and plans that give each a place: the vocabulary of the room.

plan 4608 bytes, alignment 64 {
  x: 4096 bytes at 0, live 0..3
  h: 512 bytes at 4096, live 1..2, holds h "view of h"
}
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from compiler.errors import CompileError, Where

ALIGNMENT_BYTES = 64
"""One cache line, and one vector of the widest kind."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """Memory that is needed from step `start` until before step `end`.

    `values` names what lies in it: the value itself, its views, and what was computed in place.
    Units: size and offset in bytes; lifetimes in launch steps, half-open; `offset`
    is -1 until the buffer has a place.
    """

    name: str
    size: int
    start: int
    end: int
    offset: int = -1
    values: tuple[str, ...] = field(default=())

    @property
    def limit(self) -> int:
        """The first byte behind it."""
        return self.offset + self.size

    def __str__(self) -> str:
        place = f" at {self.offset}" if self.offset >= 0 else ""
        line = f"{_quote(self.name)}: {self.size} bytes{place}, live {self.start}..{self.end}"
        if self.values and self.values != (self.name,):
            line += ", holds " + " ".join(map(_quote, self.values))
        return line


@dataclass(frozen=True)
class Plan:
    """Buffers with their offsets in one arena. Units: bytes."""

    buffers: tuple[Buffer, ...]
    alignment_bytes: int = ALIGNMENT_BYTES

    @cached_property
    def peak_bytes(self) -> int:
        """Size of the arena that the plan needs."""
        return max((b.limit for b in self.buffers if b.size), default=0)

    @cached_property
    def lower_bound_bytes(self) -> int:
        """The most bytes alive at one step: no plan can need less."""
        return live_bytes(self.buffers)

    def offset_of(self, name: str) -> int:
        """Where a buffer lies. Errors: KeyError."""
        return self._by_name[name].offset

    @cached_property
    def _by_name(self) -> dict[str, Buffer]:
        return {b.name: b for b in self.buffers}

    def __str__(self) -> str:
        lines = [f"plan {self.peak_bytes} bytes, alignment {self.alignment_bytes} {{"]
        return "\n".join([*lines, *(f"  {b}" for b in self.buffers), "}"])


def live_bytes(buffers: Iterable[Buffer]) -> int:
    """The most bytes alive at one step."""
    change: dict[int, int] = {}
    for b in buffers:
        change[b.start] = change.get(b.start, 0) + b.size
        change[b.end] = change.get(b.end, 0) - b.size
    top = now = 0
    for step in sorted(change):
        now += change[step]
        top = max(top, now)
    return top


def check_problem(buffers: Sequence[Buffer]) -> None:
    """Errors: E-PLAN-INPUT for a negative size, an empty lifetime or a name used twice."""
    seen: set[str] = set()
    for row, b in enumerate(buffers, 1):
        problem = ""
        if b.size < 0:
            problem = f"needed a size of at least 0 bytes, got {b.size}"
        elif b.start >= b.end:
            problem = f"needed a lifetime that ends after it starts, got {b.start}..{b.end}"
        elif b.start < 0:
            problem = f"needed a lifetime from step 0 on, got {b.start}..{b.end}"
        elif b.name in seen:
            problem = "the name is used twice"
        if problem:
            raise CompileError("E-PLAN-INPUT", f"buffer {b.name!r}, number {row}: {problem}")
        seen.add(b.name)


_SIMPLE = re.compile(r"[A-Za-z_][\w.]*\Z")
_NAME = r'("(?:[^"\\]|\\.)*"|[A-Za-z_][\w.]*)'
_HEAD = re.compile(r"plan (\d+) bytes, alignment (\d+) \{\Z")
_LINE = re.compile(
    rf"{_NAME}: (\d+) bytes(?: at (\d+))?, live (\d+)\.\.(\d+)(?:, holds ({_NAME}(?: {_NAME})*))?\Z"
)


def _quote(name: str) -> str:
    return name if _SIMPLE.match(name) else json.dumps(name)


def _unquote(text: str) -> str:
    return json.loads(text) if text.startswith('"') else text


def parse_plan(text: str) -> Plan:
    """Read what `str(plan)` prints. Errors: E-TEXT-SYNTAX, E-PLAN-INPUT."""
    lines = [(n, line.strip()) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines:
        raise CompileError("E-TEXT-SYNTAX", "needed a plan, got no text")
    head = _HEAD.match(lines[0][1])
    if head is None or lines[-1][1] != "}" or len(lines) < 2:
        raise CompileError(
            "E-TEXT-SYNTAX",
            f"needed `plan N bytes, alignment N {{ ... }}`, got {lines[0][1][:60]!r}",
            where=Where("plan", lines[0][0], 1),
        )
    buffers = tuple(_parse_line(n, line) for n, line in lines[1:-1])
    check_problem(buffers)
    return Plan(buffers, int(head[2]))


def _parse_line(number: int, line: str) -> Buffer:
    match = _LINE.match(line)
    if match is None:
        raise CompileError(
            "E-TEXT-SYNTAX",
            f"needed `name: N bytes at N, live N..N`, got {line[:80]!r}",
            where=Where("plan", number, 1),
        )
    name, size, offset, start, end, held = match.groups()[:6]
    name = _unquote(name)
    values = tuple(_unquote(v) for v in re.findall(_NAME, held)) if held else ()
    return Buffer(
        name, int(size), int(start), int(end), -1 if offset is None else int(offset), values
    )
