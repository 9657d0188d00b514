"""Schedules that are being edited."""

from __future__ import annotations

from typing import TypedDict

from app.wire.shapes import Payload
from app.wire.shapes.facts import Problem
from app.wire.shapes.targets import KernelLevels
from compiler.schedule.language.move import Level as MoveLevel


class MoveParameter(TypedDict):
    """An argument of a move: of what kind it is, in words too; `is_rest` takes any number."""

    name: str
    kind: str
    words: str
    is_rest: bool


class Move(TypedDict):
    """A move of the language of schedules; `level` is what it is made on."""

    name: str
    signature: str
    words: str
    level: MoveLevel
    parameters: list[MoveParameter]


class Moves(Payload):
    """All moves, the steps of processors, and how many `characters` a schedule may have."""

    characters: int
    steps: list[str]
    moves: list[Move]


class ScheduleToCheck(TypedDict):
    """The text of a schedule that is being edited."""

    text: str


class NestAt(TypedDict):
    """The loops of a nest after a line (0: as it begins), outermost first; the tensors it reads."""

    nest: str
    line: int
    loops: list[str]
    tensors: list[str]


class CheckedSchedule(Payload):
    """What reading a schedule gave: its problems, and the nests after each line that was read."""

    problems: list[Problem]
    n_moves: int
    stages: list[str]
    nests: list[NestAt]


class ScheduledCode(KernelLevels):
    """A kernel at each level; `cut` counts lines left out, the figures are of the listing."""

    n_instructions: int
    n_spills: int | None
    n_bytes: int


class ComparedOutput(TypedDict):
    """A result with both schedules on the same operands."""

    name: str
    agrees: bool
    max_abs_error: float
    scale: float


class CallTime(TypedDict):
    """One call: the median, and the 95 % interval of it. Units: seconds."""

    median_s: float
    low_s: float
    high_s: float


class SchedulesInTurns(TypedDict):
    """Both kernels timed interleaved on one thread; `ratio` is edited by original, `low` to `high`.

    Where code and data happen to lie moves a ratio by up to about `noise` from run to run.
    """

    rounds: int
    noise: float
    ratio: float
    low: float
    high: float
    original: CallTime
    edited: CallTime


class ScheduleVerdict(TypedDict):
    """Results and times of both; `times` are null until it was run, and where numbers differ."""

    outputs: list[ComparedOutput]
    times: SchedulesInTurns | None


class EditedKernel(Payload, ScheduleVerdict):
    """A kernel with an edited schedule beside its own; `because` says why it was not run."""

    job: str
    kernel: int
    name: str
    text: str
    original: ScheduledCode
    edited: ScheduledCode
    because: str
