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
from dataclasses import replace

from compiler.errors import CompileError, Where
from compiler.targets.options import KernelSchedule, Schedules

MOST_CHARACTERS = 4_000_000
"""The maximum length of a text: ten times the length of schedules for a thousand kernels."""

_PLAIN = re.compile(r"[A-Za-z_][\w.]*")
_NAME = re.compile(r"""\s*(?:([A-Za-z_][\w.]*)|"([^"\n]*)")\s*""")
_HEAD = re.compile(r"""kernel[ \t]((?:[^{"]|"[^"\n]*")*)\{\s*(//.*)?$""")


def parse_sections(text: str, source: str = "schedule") -> tuple[KernelSchedule, ...]:
    """Parse the schedules of a text, by kernel.

    Errors: E-SCHEDULE-TEXT with `source` and the line.
    """
    start = Where(source=source, line=1, column=1, length=1)
    if len(text) > MOST_CHARACTERS:
        raise _fail(f"schedules have at most {MOST_CHARACTERS:,} characters", start)
    found: dict[str, KernelSchedule] = {}
    names: list[str] = []
    head = None
    held: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        word = line.strip()
        if head and word != "}":
            held.append(line)
        elif head:
            for name in names:
                found[name] = KernelSchedule(name, "\n".join(held), head.line + 1, source)
            head, held = None, []
        elif word and not word.startswith("//"):
            head = replace(start, line=number, column=line.index(word) + 1)
            names = _names(word, head)
            twice = [n for n in names if n in found]
            if twice:
                raise _fail(f"{twice[0]} already has a schedule above", head)
    if head:
        raise _fail("the section is not closed by a line `}`", head)
    return tuple(found.values())


def _names(word: str, where: Where) -> list[str]:
    head = _HEAD.fullmatch(word)
    if head is None:
        raise _fail(f"needed `kernel NAME {{`, got {word[:40]!r}", where)
    names: list[str] = []
    rest = head[1]
    while True:
        found = _NAME.match(rest)
        if found is None:
            raise _fail(f"needed the name of a kernel, got {rest[:40]!r}", where)
        names.append(found[1] or found[2] or "")
        rest = rest[found.end() :]
        if not rest:
            return names
        if not rest.startswith(","):
            raise _fail(f"needed `,` or `{{`, got {rest[:40]!r}", where)
        rest = rest[1:]


def _fail(message: str, where: Where) -> CompileError:
    return CompileError("E-SCHEDULE-TEXT", message, where=where)


def section(names: Iterable[str], lines: Iterable[str]) -> str:
    """Print one section; `parse_sections` reads it back."""
    quoted = (n if _PLAIN.fullmatch(n) else f'"{n}"' for n in names)
    return "\n".join([f"kernel {', '.join(quoted)} {{", *(f"  {line}" for line in lines), "}"])


def as_schedules(given: Schedules | None) -> tuple[KernelSchedule, ...]:
    """Convert a text with sections, or a mapping from kernel names to moves, to schedules.

    Errors: E-SCHEDULE-TEXT, E-OPTION-VALUE.
    """
    if isinstance(given, tuple):
        return given
    if isinstance(given, str):
        return parse_sections(given)
    moves: object = given or {}
    if isinstance(moves, Mapping) and all(
        isinstance(name, str) and isinstance(text, str) for name, text in moves.items()
    ):
        return tuple(KernelSchedule(name, text) for name, text in moves.items())
    raise CompileError(
        "E-OPTION-VALUE",
        f"schedules must be a text or map kernel names to moves, got {moves!r:.60}",
    )
