"""The schedules of several kernels as one text with a section per kernel.

    // the second layer
    kernel conv_relu_2 {
      Y: split(o, 16, ob, ol)
      Y: vectorize(ol)
    }

Kernels that share their code share a section: `kernel exp_1, exp_2 {`. Names that are not
identifiers are quoted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from compiler.errors import CompileError, Where
from compiler.targets.options import KernelSchedule

MOST_CHARACTERS = 4_000_000
"""The maximum length of a text: ten times the length of schedules for a thousand kernels."""

_PLAIN = re.compile(r"[A-Za-z_][\w.]*")
_NAME = re.compile(r"""\s*(?:([A-Za-z_][\w.]*)|"([^"\n]*)")\s*""")
_HEAD = re.compile(r"""kernel[ \t]((?:[^{"]|"[^"\n]*")*)\{\s*(//.*)?$""")


def parse_sections(text: str) -> tuple[KernelSchedule, ...]:
    """Parse the schedules of a text, by kernel. Errors: E-SCHEDULE-TEXT with the line."""
    if len(text) > MOST_CHARACTERS:
        raise _fail(f"schedules have at most {MOST_CHARACTERS:,} characters", 1)
    found: dict[str, KernelSchedule] = {}
    names: list[str] = []
    begun = 0
    held: list[str] = []
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        word = line.strip()
        if begun and word != "}":
            held.append(line)
        elif begun:
            for name in names:
                found[name] = KernelSchedule(name, "\n".join(held), begun + 1)
            begun, held = 0, []
        elif word and not word.startswith("//"):
            names = _names(word, line.index(word), number)
            twice = [n for n in names if n in found]
            if twice:
                raise _fail(f"{twice[0]} already has a schedule above", number)
            begun = number
    if begun:
        raise _fail("the section is not closed by a line `}`", begun)
    return tuple(found.values())


def _names(word: str, at: int, number: int) -> list[str]:
    head = _HEAD.fullmatch(word)
    if head is None:
        raise _fail(f"needed `kernel NAME {{`, got {word[:40]!r}", number, at)
    names: list[str] = []
    rest = head[1]
    while True:
        found = _NAME.match(rest)
        if found is None:
            raise _fail(f"needed the name of a kernel, got {rest[:40]!r}", number, at)
        names.append(found[1] or found[2] or "")
        rest = rest[found.end() :]
        if not rest:
            return names
        if not rest.startswith(","):
            raise _fail(f"needed `,` or `{{`, got {rest[:40]!r}", number, at)
        rest = rest[1:]


def _fail(message: str, line: int, at: int = 0) -> CompileError:
    where = Where(source="schedule", line=line, column=at + 1, length=1)
    return CompileError("E-SCHEDULE-TEXT", message, where=where)


def section(names: Iterable[str], lines: Iterable[str]) -> str:
    """Print one section; `parse_sections` reads it back."""
    quoted = (n if _PLAIN.fullmatch(n) else f'"{n}"' for n in names)
    return "\n".join([f"kernel {', '.join(quoted)} {{", *(f"  {line}" for line in lines), "}"])


def as_schedules(
    given: Mapping[str, str] | str | tuple[KernelSchedule, ...] | None,
) -> tuple[KernelSchedule, ...]:
    """Convert a text with sections, or a mapping from kernel names to moves, to schedules.

    Errors: E-SCHEDULE-TEXT.
    """
    if isinstance(given, tuple):
        return given
    if isinstance(given, str):
        return parse_sections(given)
    return tuple(KernelSchedule(str(name), str(text)) for name, text in (given or {}).items())
