"""Pipelines as data: an ordered list of passes with options, and a reason per line.

    simplify{until=fixpoint},fold_constants{max_growth=1.1},fuse{policy=anchor}

is the text form; a preset's name stands for its lines, and `-fuse` takes a pass out of what stands
before it: `default,-fuse`. Passes that make work for each other stand in a group that is repeated
until a round changes nothing: `until_stable{at_most=4}(simplify,fold_constants),fuse`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field, replace
from typing import Any

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.passes.engine.declaration import ALIASES, PASSES, Pass

MAX_LINES = 200
"""A pipeline of more lines is refused: it would only be a way to keep a server busy."""


@dataclass(frozen=True, slots=True)
class Line:
    """One pass of a pipeline, the options that differ from its defaults, and why it stands here."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    because: str = ""

    @property
    def declared(self) -> Pass:
        """The pass. Errors: E-PIPELINE-PASS."""
        return find_pass(self.name)

    def __str__(self) -> str:
        if not self.options:
            return self.name
        inside = ",".join(f"{k}={_value_text(v)}" for k, v in self.options.items())
        return f"{self.name}{{{inside}}}"


UNTIL_STABLE = "until_stable"
"""The name of a group in the text form."""

AT_MOST = 4
"""Rounds of a group unless it says otherwise; two or three are usual."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """Passes that run again, in order, until a round changes nothing or `at_most` rounds ran."""

    lines: tuple[Line, ...]
    at_most: int = AT_MOST
    because: str = ""

    def __str__(self) -> str:
        limit = "" if self.at_most == AT_MOST else f"{{at_most={self.at_most}}}"
        return f"{UNTIL_STABLE}{limit}({','.join(map(str, self.lines))})"


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Lines and groups in order; `name` is the preset's, or "" for one written by hand."""

    lines: tuple[Line | Repeat, ...]
    name: str = ""
    words: str = ""

    def __str__(self) -> str:
        return ",".join(map(str, self.lines)) or "none"

    def without(self, *names: str) -> Pipeline:
        """The pipeline with these passes switched off. Errors: E-PIPELINE-PASS."""
        gone = {find_pass(name).name for name in names}
        return Pipeline(tuple(kept for x in self.lines if (kept := _without(x, gone)) is not None))

    @property
    def portable(self) -> Pipeline:
        """The pipeline for graphs that run elsewhere: without work that pays only in our code."""
        made = self.without(*(x.name for x in self.passes if x.declared.for_code))
        return Pipeline(tuple(map(_elsewhere, made.lines)))

    @property
    def passes(self) -> tuple[Line, ...]:
        """All lines in order, those of groups once."""
        groups = (x.lines if isinstance(x, Repeat) else (x,) for x in self.lines)
        return tuple(line for group in groups for line in group)

    def advice(self) -> list[str]:
        """Where a pass stands before one that provides what it profits from."""
        found: list[str] = []
        for i, line in enumerate(self.passes):
            given = {g for earlier in self.passes[:i] for g in earlier.declared.gives}
            for need in line.declared.needs:
                if need in given:
                    continue
                givers = [p.name for p in PASSES.values() if need in p.gives]
                found.append(
                    f"{line.name} finds less to do: it profits from {need}, "
                    f"which {' or '.join(givers)} would give before it"
                )
        return found


def _without(x: Line | Repeat, names: Collection[str]) -> Line | Repeat | None:
    """A line or group without some passes; None when nothing is left of it."""
    if isinstance(x, Line):
        return None if x.name in names else x
    lines = tuple(line for line in x.lines if line.name not in names)
    return replace(x, lines=lines) if lines else None


def _elsewhere(x: Line | Repeat) -> Line | Repeat:
    """A line or group with the options of passes for graphs that run elsewhere."""
    if isinstance(x, Line):
        options = x.declared.elsewhere
        return replace(x, options={**x.options, **options}) if options else x
    return replace(x, lines=tuple(y for y in map(_elsewhere, x.lines) if isinstance(y, Line)))


def find_pass(name: str) -> Pass:
    """The pass with this name or alias. Errors: E-PIPELINE-PASS."""
    name = ALIASES.get(name, name)
    if name not in PASSES:
        known = ", ".join(sorted(PASSES))
        raise CompileError("E-PIPELINE-PASS", f"there is no pass {name[:60]!r}; passes: {known}")
    return PASSES[name]


def line(name: str, because: str = "", **options: Any) -> Line:
    """A line with checked options, of a pass by its name or an alias.

    Errors: E-PIPELINE-PASS, E-PIPELINE-OPTION.
    """
    declared = find_pass(name)
    bound = declared.bind(options)
    return Line(
        declared.name,
        {k: bound[k] for k in options if bound[k] != declared.options[k].default},
        because,
    )


def _value_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)
