"""A schedule during editing: its problems, and the loops after each line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from compiler.compute.computation import Computation
from compiler.compute.scalar import reads
from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.schedule.assemble import assemble
from compiler.schedule.language.between import Stages
from compiler.schedule.language.call import Line
from compiler.schedule.language.replay import (
    apply_between,
    apply_line,
    by_level,
    by_nest,
    replay_lines,
)
from compiler.schedule.language.text import MOST_LINES, parse_schedule
from compiler.schedule.nest import Nest
from compiler.targets.options import CodeOptions

MOST_PROBLEMS = 20
"""The maximum number of problems reported at once."""


@dataclass(frozen=True, slots=True)
class NestAt:
    """A nest after a line of the text: its loops, outermost first, and its operands.

    Line 0 is the state before the first move.
    """

    nest: str
    line: int
    loops: tuple[str, ...]
    tensors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """The result of reading a schedule; `stages` are the names that moves on stages accept."""

    problems: tuple[CompileError, ...]
    n_moves: int
    nests: tuple[NestAt, ...]
    stages: tuple[str, ...]


def draft(
    text: str, computation: Computation, constants: frozenset[str], options: CodeOptions
) -> Draft:
    """Read the text of a schedule as far as possible.

    Each line that does not parse is a problem. The lines before the first such line are replayed;
    the replay of a nest ends at its first refused move. The position of a problem is the word that
    its message names, if any.
    Errors: none; the draft contains the errors.
    """
    lines, problems = _lines(text)
    first = problems[0].where.line if problems else MOST_LINES
    reader = _Reader([x for x in lines if x.where.line < first], text.split("\n"))
    try:
        assemble(computation, constants, options, reader.arrange, reader.shape)
        problems += reader.problems
        if not problems:  # limits on the whole text
            replay_lines(lines, computation, constants, options)
    except CompileError as e:
        problems += reader.problems
        if not problems:
            problems.append(reader.placed(e))
    stages = tuple(dict.fromkeys(s for part in computation.stages for s in _targets(part)))
    shown = tuple(sorted(problems, key=lambda e: (e.where.line, e.where.column)))
    return Draft(shown[:MOST_PROBLEMS], len(lines), tuple(reader.nests), stages)


def _targets(part: object) -> Sequence[str]:
    target = getattr(part, "target", "")
    return [target] if target else []


def _lines(text: str) -> tuple[list[Line], list[CompileError]]:
    """Return the lines that parse, and the errors of the other lines."""
    lines: list[Line] = []
    problems: list[CompileError] = []
    for number, line in enumerate(text.split("\n"), 1):
        try:
            lines += parse_schedule(line, first_line=number)
        except CompileError as e:
            problems.append(_widened(e, line))
    if len(lines) > MOST_LINES:
        where = lines[MOST_LINES].where
        message = f"a schedule has at most {MOST_LINES:,} moves, this one has {len(lines):,}"
        return lines[:MOST_LINES], [CompileError("E-SCHEDULE-TEXT", message, where=where)]
    return lines, problems


def _widened(error: CompileError, row: str) -> CompileError:
    """Extend the position of an error to the whole word."""
    word = re.compile(r"[\w.#']+").match(row, error.where.column - 1)
    return error.moved_to(replace(error.where, length=len(word.group()) if word else 1))


class _Reader:
    """Replays lines; after a refused move, continues with the next nest."""

    def __init__(self, lines: Sequence[Line], rows: Sequence[str]) -> None:
        self.rows = rows
        self.problems: list[CompileError] = []
        self.nests: list[NestAt] = []
        self.last: Line | None = None
        self.between: list[Line] = []
        inside: list[Line] = []
        try:
            self.between, inside = by_level(lines)
        except CompileError as e:
            self.problems.append(self.placed(e))
        self.inside = by_nest(inside)
        self.begun: set[str] = set()

    def arrange(self, stages: Stages) -> Stages:
        for line in self.between:
            self.last = line
            try:
                stages = apply_between(stages, line)
            except CompileError as e:
                self.problems.append(self.placed(e))
                self.inside = {}  # the names belong to other nests
                break
        return stages

    def shape(self, name: str, nest: Nest) -> Nest:
        if name not in self.begun:
            self.nests.append(_at(name, 0, nest))
        self.begun.add(name)
        for line in self.inside.get(name, ()):
            self.last = line
            try:
                nest = apply_line(nest, line)
            except CompileError as e:
                self.problems.append(self.placed(e))
                break
            self.nests.append(_at(name, line.where.line, nest))
        return nest

    def placed(self, error: CompileError) -> CompileError:
        """Locate an error at the word that its message names.

        An error without a line is located in the line replayed last.
        """
        where = error.where
        if not where.line:
            if self.last is None:
                return error
            where = self.last.where
        row = self.rows[where.line - 1]
        head, _, call = row.partition(":")
        quoted = set(re.findall(r"'([\w.]+)'", error.message))
        named = quoted or set(re.findall(r"[\w.]+", error.message)) - {"a"}
        begin = len(head) + 1 + call.find("(") + 1
        words = re.finditer(r"[\w.]+", row[begin:].partition(")")[0])
        found = next((w for w in words if w.group() in named), None)
        if "there is no nest" in error.message:
            where = replace(where, length=len(head.strip()))
        elif found is not None:
            where = replace(where, column=begin + found.start() + 1, length=len(found.group()))
        return error.moved_to(where)


def _at(name: str, line: int, nest: Nest) -> NestAt:
    values = (nest.value, *(b.value for b in nest.beside))
    tensors = dict.fromkeys(r.tensor for v in values for r in reads(v))
    return NestAt(name, line, tuple(a.var for a in nest.axes), tuple(tensors))
