"""Edited schedules."""

from __future__ import annotations

from typing import TypedDict

from app.wire.shapes import Payload
from app.wire.shapes.facts import Problem
from app.wire.shapes.targets import KernelLevels
from compiler.schedule.language.move import Level as MoveLevel


class MoveParameter(TypedDict):
    """A parameter of a move: its kind, with a description; an `is_rest` parameter takes any number
    of arguments."""

    name: str
    kind: str
    words: str
    is_rest: bool


class Move(TypedDict):
    """A move of the schedule language; `level` says whether the move transforms loops or stages."""

    name: str
    signature: str
    words: str
    level: MoveLevel
    parameters: list[MoveParameter]


class Moves(Payload):
    """All moves, the `steps` to which `tensorize` maps loops, and the maximum number of
    `characters` of a schedule."""

    characters: int
    steps: list[str]
    moves: list[Move]


class ScheduleToCheck(TypedDict):
    """The text of an edited schedule."""

    text: str


class NestAt(TypedDict):
    """The loops of a nest after a line of the schedule, and the tensors that the nest reads.

    The loops are listed outermost first. Line 0 is the state before the first move.
    """

    nest: str
    line: int
    loops: list[str]
    tensors: list[str]


class CheckedSchedule(Payload):
    """The result of parsing a schedule: its problems, and the nests after each valid line."""

    problems: list[Problem]
    n_moves: int
    stages: list[str]
    nests: list[NestAt]


class ScheduledCode(KernelLevels):
    """A kernel at each level; `cut` counts omitted lines, and the other counts describe the
    listing."""

    n_instructions: int
    n_spills: int | None
    n_bytes: int


class ComparedOutput(TypedDict):
    """The difference of a result between the original and edited schedule, on the same operands."""

    name: str
    agrees: bool
    max_abs_error: float
    scale: float


class CallTime(TypedDict):
    """The time of one call: the median, and its 95 % confidence interval. Units: seconds."""

    median_s: float
    low_s: float
    high_s: float


class SchedulesInTurns(TypedDict):
    """Interleaved times of the original and edited kernel on one thread; `ratio` is edited over
    original time.

    `low` to `high` is the confidence interval of the ratio. The addresses of code and data change a
    ratio by up to about `noise` from run to run.
    """

    machine: str
    rounds: int
    noise: float
    ratio: float
    low: float
    high: float
    original: CallTime
    edited: CallTime


class ScheduleVerdict(TypedDict):
    """Comparison of the original and edited schedule; `times` is null before the run, or if results
    differ."""

    outputs: list[ComparedOutput]
    times: SchedulesInTurns | None


class EditedKernel(Payload, ScheduleVerdict):
    """A kernel with the edited and the original schedule; `because` is the reason if it was not
    run."""

    job: str
    kernel: int
    name: str
    text: str
    original: ScheduledCode
    edited: ScheduledCode
    because: str
