"""What checking a compiled model found: errors of stages, of values, and of the program."""

from __future__ import annotations

from typing import TypedDict

from app.wire.shapes import Payload
from compiler.check.findings import Mark


class CheckedOutput(TypedDict):
    """An output against the yardstick and (`wide_error`, `ulps`) against the model in f64.

    Errors are relative to the largest magnitude of the output; null where there is no number.
    """

    name: str
    max_abs_error: float | None
    scale: float | None
    relative_error: float | None
    note: str
    wide_error: float | None
    ulps: float | None


class CheckedRun(TypedDict):
    """One way to compute the model; errors are those of its worst output."""

    mark: Mark
    objection: str
    seconds: float
    relative_error: float | None
    wide_error: float | None
    ulps: float | None
    outputs: list[CheckedOutput]


class CheckedStage(CheckedRun):
    """A stage, computed by the reference. `moved`: how far from the stage before, if `has_moved`.

    `n_moved` counts values that are other numbers than the model's own under the same name.
    `values_stage` is the stage whose values these are, null when no values were kept.
    """

    stage: int
    name: str
    changed: bool
    has_moved: bool
    moved: float | None
    n_moved: int
    values_stage: int | None


class WrongRewrite(TypedDict):
    """A rewrite that is wrong by itself; `step` is its place among the stage's steps, or -1."""

    stage: int
    step: int
    pass_name: str
    rule: str
    at: str
    kind: str
    objection: str
    relative_error: float | None


class CheckedRewrites(TypedDict):
    """Rewrites judged by themselves: equal ones once, as many as time permits."""

    n_applied: int
    n_judged: int
    wrong: list[WrongRewrite]


class Numerics(Payload):
    """What a check has found so far.

    `kinds` are the inputs, `narrow` nodes that have no f64 form (`n_narrow` in all).
    """

    job: str
    seed: int
    yardstick: str
    note: str
    tolerance: float
    allowed: float
    in_codes: bool
    kinds: list[str]
    narrow: list[str]
    n_narrow: int
    rows: list[CheckedStage]
    program: CheckedRun | None
    no_program: str
    first_moved: int | None
    first_wrong: int | None
    rewrites: CheckedRewrites | None
    broken: str
    check_command: str
    bisect_command: str


class CheckedValue(TypedDict):
    """A value against its f64 form, and whether it is another number than it was at first.

    `node` is the id of the node that makes it; `counts` are elements by distance in ULP: at most
    each of `places`, and more.
    """

    name: str
    node: str
    absolute_error: float | None
    relative_error: float | None
    ulps: float | None
    moved: bool
    counts: list[int]


class CheckedValues(Payload):
    """The values of a stage that the model has too, in order of computation, of `n_values`."""

    stage: int
    tolerance: float
    n_values: int
    places: list[float]
    values: list[CheckedValue]
