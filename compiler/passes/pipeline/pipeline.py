"""Pipelines as data: an ordered list of passes with options, and a reason per line.

    simplify{until=fixpoint},fold_constants{max_growth=1.1},fuse{policy=anchor}

is the text form. The name of a preset stands for its lines, and `-fuse` removes a pass from the
preceding lines: `default,-fuse`. Passes of a group create matches for each other, and repeat until
an iteration changes nothing: `until_stable{at_most=4}(simplify,fold_constants),fuse`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field, replace
from typing import Any

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.passes.engine.declaration import ALIASES, PASSES, Pass

MAX_LINES = 200
"""Limit on the number of lines of a pipeline, against denial of service."""


@dataclass(frozen=True, slots=True)
class Line:
    """A pass of a pipeline, its non-default options, and the reason for its position."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    because: str = ""

    @property
    def declared(self) -> Pass:
        """The pass of the line. Errors: E-PIPELINE-PASS."""
        return find_pass(self.name)

    def __str__(self) -> str:
        if not self.options:
            return self.name
        inside = ",".join(f"{k}={_value_text(v)}" for k, v in self.options.items())
        return f"{self.name}{{{inside}}}"


UNTIL_STABLE = "until_stable"
"""The name of a group in the text form."""

AT_MOST = 4
"""Default limit on the iterations of a group; two or three iterations usually suffice."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """A group of passes, repeated until an iteration changes nothing, at most `at_most` times."""

    lines: tuple[Line, ...]
    at_most: int = AT_MOST
    because: str = ""

    def __str__(self) -> str:
        limit = "" if self.at_most == AT_MOST else f"{{at_most={self.at_most}}}"
        return f"{UNTIL_STABLE}{limit}({','.join(map(str, self.lines))})"


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Lines and groups in order; `name` is the name of a preset, or "" for a user's pipeline."""

    lines: tuple[Line | Repeat, ...]
    name: str = ""
    words: str = ""

    def __str__(self) -> str:
        return ",".join(map(str, self.lines)) or "none"

    def without(self, *names: str) -> Pipeline:
        """Return the pipeline without these passes. Errors: E-PIPELINE-PASS."""
        gone = {find_pass(name).name for name in names}
        return Pipeline(tuple(kept for x in self.lines if (kept := _without(x, gone)) is not None))

    @property
    def portable(self) -> Pipeline:
        """The pipeline for other runtimes, without passes that only serve code generation."""
        made = self.without(*(x.name for x in self.passes if x.declared.for_code))
        return Pipeline(tuple(map(_elsewhere, made.lines)))

    @property
    def passes(self) -> tuple[Line, ...]:
        """All lines in order; the lines of a repeated group appear once."""
        groups = (x.lines if isinstance(x, Repeat) else (x,) for x in self.lines)
        return tuple(line for group in groups for line in group)

    def advice(self) -> list[str]:
        """Warnings about facts that would help a pass but that no earlier pass provides."""
        found: list[str] = []
        for i, line in enumerate(self.passes):
            given = {g for earlier in self.passes[:i] for g in earlier.declared.gives}
            for need in line.declared.needs:
                if need in given:
                    continue
                givers = [p.name for p in PASSES.values() if need in p.gives]
                found.append(
                    f"{line.name} is less effective here: it benefits from {need}, which "
                    f"an earlier {' or '.join(givers)} would provide"
                )
        return found


def _without(x: Line | Repeat, names: Collection[str]) -> Line | Repeat | None:
    """Remove passes from a line or group; return None if no pass remains."""
    if isinstance(x, Line):
        return None if x.name in names else x
    lines = tuple(line for line in x.lines if line.name not in names)
    return replace(x, lines=lines) if lines else None


def _elsewhere(x: Line | Repeat) -> Line | Repeat:
    """Set the options of a line or group for graphs that run in other runtimes."""
    if isinstance(x, Line):
        options = x.declared.elsewhere
        return replace(x, options={**x.options, **options}) if options else x
    return replace(x, lines=tuple(y for y in map(_elsewhere, x.lines) if isinstance(y, Line)))


def find_pass(name: str) -> Pass:
    """Return the pass with this name or alias. Errors: E-PIPELINE-PASS."""
    name = ALIASES.get(name, name)
    if name not in PASSES:
        known = ", ".join(sorted(PASSES))
        raise CompileError("E-PIPELINE-PASS", f"there is no pass {name[:60]!r}; passes: {known}")
    return PASSES[name]


def line(name: str, because: str = "", **options: Any) -> Line:
    """Build a line with checked options for a pass, given by name or alias.

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
