"""Making the kernel that a schedule's text describes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from compiler.compute.computation import Computation
from compiler.errors import CompileError
from compiler.schedule.assemble import Scheduled, assemble
from compiler.schedule.language.call import Line
from compiler.schedule.language.move import MOVES
from compiler.schedule.language.text import did_you_mean, parse_schedule
from compiler.schedule.nest import Nest
from compiler.schedule.parallel import in_parallel
from compiler.targets.options import CodeOptions


def replay(
    text: str, computation: Computation, constants: frozenset[str], options: CodeOptions
) -> Scheduled:
    """The kernel that a schedule's text makes of a computation.

    The text says all: a nest that it does not speak of runs its loops one after the other. The
    policy's own moves give the policy's own kernel.
    Errors: E-SCHEDULE-TEXT, E-SCHEDULE-MOVE with the place in the text.
    """
    return replay_lines(parse_schedule(text), computation, constants, options)


def replay_lines(
    lines: Iterable[Line],
    computation: Computation,
    constants: frozenset[str],
    options: CodeOptions,
) -> Scheduled:
    """The kernel that the lines of a schedule make. Errors: E-SCHEDULE-MOVE."""
    waiting = by_nest(lines)
    named: list[str] = []

    def shape(name: str, nest: Nest) -> Nest:
        named.append(name)
        for line in waiting.pop(name, ()):
            nest = apply_line(nest, line)
        return nest

    made = assemble(computation, constants, options, shape)
    for name, left in waiting.items():
        raise CompileError(
            "E-SCHEDULE-MOVE",
            f"there is no nest {name!r}{did_you_mean(name, named)}",
            where=left[0].where,
            hint=f"the nests are {', '.join(named)}",
        )
    by_hand = any(line.call.move == "parallel" for line in made.lines)
    return replace(made, kernel=in_parallel(made.kernel, options, by_hand=by_hand))


def by_nest(lines: Iterable[Line]) -> dict[str, list[Line]]:
    """The lines by the nest that they are for, in order."""
    found: dict[str, list[Line]] = {}
    for line in lines:
        found.setdefault(line.nest, []).append(line)
    return found


def apply_line(nest: Nest, line: Line) -> Nest:
    """The nest after one line of a schedule. Errors: E-SCHEDULE-MOVE at its place."""
    move = MOVES[line.call.move]
    try:
        return move.apply(nest.because(line.call.because), *line.call.arguments)
    except CompileError as e:
        raise e.at(line.where) from e
