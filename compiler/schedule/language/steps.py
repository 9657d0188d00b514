"""A schedule, move by move: the loops at the start and after each move, and each move's reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compiler.compute.computation import Computation, Routine
from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.schedule.assemble import assemble
from compiler.schedule.language.between import Stages
from compiler.schedule.language.call import Line
from compiler.schedule.language.move import MOVES, Move
from compiler.schedule.language.replay import (
    apply_between,
    apply_line,
    by_level,
    by_nest,
    replay_lines,
)
from compiler.schedule.nest import Nest
from compiler.schedule.stages.tree import Group, Member
from compiler.targets.options import CodeOptions


@dataclass(frozen=True, slots=True)
class Step:
    """The state after a move on a nest or on the stages; without a `line`, the initial state.

    `outline` has the loops and their body after the move, before remainders are peeled.
    """

    nest: str
    outline: str
    line: Line | None = None

    @property
    def move(self) -> Move | None:
        """The declaration of the move."""
        return MOVES[self.line.call.move] if self.line is not None else None

    @property
    def because(self) -> str:
        """The reason for the move, "" for none."""
        return self.line.call.because if self.line is not None else ""


def steps(
    lines: Sequence[Line], computation: Computation, constants: frozenset[str], options: CodeOptions
) -> tuple[Step, ...]:
    """Return the stages after each move on stages, then each nest at the start and after each move.

    Lines on different nests may alternate in the text; the result groups lines by nest.
    Errors: E-SCHEDULE-MOVE.
    """
    between, inside = by_level(lines)
    waiting = by_nest(inside)
    found: list[Step] = []

    def arrange(stages: Stages) -> Stages:
        for line in between:
            stages = apply_between(stages, line)
            found.append(Step(line.nest, "\n".join(_members_lines(stages.members)), line))
        return stages

    def shape(name: str, nest: Nest) -> Nest:
        found.append(Step(name, outline(nest)))
        for line in waiting.get(name, ()):
            nest = apply_line(nest, line)
            found.append(Step(name, outline(nest), line))
        return nest

    assemble(computation, constants, options, arrange, shape)
    return tuple(found)


def loops_after(
    lines: Sequence[Line], computation: Computation, constants: frozenset[str], options: CodeOptions
) -> str:
    """Return the Loop IR that a schedule's lines produce, or the reason for their refusal."""
    try:
        return str(replay_lines(lines, computation, constants, options).kernel)
    except CompileError as e:
        return f"// {e.message}"


def outline(nest: Nest) -> str:
    """Print the loops of a nest and their body."""
    return "\n".join(_outline_lines(nest))


def _outline_lines(nest: Nest) -> Iterator[str]:
    for depth, a in enumerate(nest.axes):
        lanes = "  // one sum per iteration" if a.lanes else ""
        yield f"{'  ' * depth}{a.kind} {a.var} in 0..{a.extent} {{{lanes}"
    for b in nest.results:
        index = ", ".join(map(str, b.index))
        yield f"{'  ' * len(nest.axes)}{b.target}[{index}] = {b.value}"
    yield from (f"{'  ' * depth}}}" for depth in reversed(range(len(nest.axes))))


def _members_lines(members: Sequence[Member]) -> Iterator[str]:
    """Yield the lines of stages inside their shared loops."""
    for m in members:
        match m:
            case Group():
                step = f" by {m.places}" if m.places > 1 else ""
                yield f"for {m.loop} in 0..{m.extent}{step} {{"
                yield from (f"  {line}" for line in _members_lines(m.members))
                yield "}"
            case Routine():
                yield from str(m).split("\n")
            case _:
                yield from map(str, m)
