"""Replay of a schedule's text: construction of the kernel that the text describes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce

from compiler.compute.computation import Computation
from compiler.errors import CompileError
from compiler.schedule.assemble import Scheduled, assemble
from compiler.schedule.language.between import Stages
from compiler.schedule.language.call import Line
from compiler.schedule.language.move import MOVES, State
from compiler.schedule.language.text import did_you_mean, parse_schedule
from compiler.schedule.nest import Nest
from compiler.schedule.threads.parallel import in_parallel
from compiler.targets.options import CodeOptions


def replay(
    text: str, computation: Computation, constants: frozenset[str], options: CodeOptions
) -> Scheduled:
    """Build the kernel of a computation from the text of a schedule.

    A stage that the text does not name keeps its original loops. The text of a policy's moves
    reproduces the kernel of that policy.
    Errors: E-SCHEDULE-TEXT, E-SCHEDULE-MOVE with the position in the text.
    """
    return replay_lines(parse_schedule(text), computation, constants, options)


def replay_lines(
    lines: Iterable[Line],
    computation: Computation,
    constants: frozenset[str],
    options: CodeOptions,
    begun: dict[str, Nest] | None = None,
) -> Scheduled:
    """Build the kernel from the lines of a schedule; `begun` receives the nests before any move.

    Errors: E-SCHEDULE-MOVE.
    """
    between, inside = by_level(lines)
    waiting = by_nest(inside)
    found = {} if begun is None else begun
    used: dict[str, list[Line]] = {}

    def arrange(stages: Stages) -> Stages:
        return reduce(apply_between, between, stages)

    def shape(name: str, nest: Nest) -> Nest:
        if name in used:
            raise CompileError(
                "E-SCHEDULE-MOVE",
                f"{name} belongs to a Winograd convolution, whose weights must be packed",
                where=used[name][0].where,
                hint="pack the weights after all other moves, or remove all moves on this nest",
            )
        found[name] = nest
        if name in waiting:
            used[name] = waiting.pop(name)
        for line in used.get(name, ()):
            nest = apply_line(nest, line)
        return nest

    made = assemble(computation, constants, options, arrange, shape)
    for name, left in waiting.items():
        raise CompileError(
            "E-SCHEDULE-MOVE",
            f"there is no nest {name!r:.60}{did_you_mean(name, found)}",
            where=left[0].where,
            hint=f"the nests are {', '.join(found)}",
        )
    if any(line.call.move == "parallel" for line in made.lines):
        return made  # the schedule itself chooses the loops that threads share
    return replace(made, kernel=in_parallel(made.kernel, options))


def by_level(lines: Iterable[Line]) -> tuple[list[Line], list[Line]]:
    """Split the lines of a schedule into moves on stages and the later moves on loops.

    Errors: E-SCHEDULE-MOVE if a move on stages follows a move on loops.
    """
    between: list[Line] = []
    inside: list[Line] = []
    for line in lines:
        if MOVES[line.call.move].level == "nest":
            inside.append(line)
        elif not inside:
            between.append(line)
        else:
            raise CompileError(
                "E-SCHEDULE-MOVE",
                f"{line.call.move} changes stages, but follows a move on loops",
                where=line.where,
                hint="put the moves on stages first",
            )
    return between, inside


def by_nest(lines: Iterable[Line]) -> dict[str, list[Line]]:
    """Group the lines by nest, in order."""
    found: dict[str, list[Line]] = {}
    for line in lines:
        found.setdefault(line.nest, []).append(line)
    return found


def apply_between(stages: Stages, line: Line) -> Stages:
    """Apply one line of a schedule to the stages. Errors: E-SCHEDULE-MOVE at its position."""
    return _applied(stages.on(line.nest), line)


def apply_line(nest: Nest, line: Line) -> Nest:
    """Apply one line of a schedule to a nest. Errors: E-SCHEDULE-MOVE at its position."""
    return _applied(nest, line)


def _applied(state: State, line: Line) -> State:
    move = MOVES[line.call.move]
    try:
        return move.apply(state.because(line.call.because), *line.call.arguments)
    except CompileError as e:
        raise e.at(line.where) from e
