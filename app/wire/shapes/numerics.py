"""Results of checking a compiled model: errors of stages, of values, and of the program."""

from __future__ import annotations

from typing import TypedDict

from app.wire.shapes import Payload
from compiler.check.findings import Mark


class CheckedOutput(TypedDict):
    """Errors of an output against the reference; `wide_error` and `ulps` are against the f64 model.

    Errors are relative to the largest magnitude of the output; null for NaN and infinities.
    """

    name: str
    max_abs_error: float | None
    scale: float | None
    relative_error: float | None
    note: str
    wide_error: float | None
    ulps: float | None


class CheckedRun(TypedDict):
    """A computation of the model, with the errors of its worst output."""

    mark: Mark
    objection: str
    seconds: float
    relative_error: float | None
    wide_error: float | None
    ulps: float | None
    outputs: list[CheckedOutput]


class CheckedStage(CheckedRun):
    """A checked stage; the reference implementation computed its outputs.

    `moved` is the difference between the outputs of this and the previous stage; `has_moved` is
    true if the outputs differ. `n_moved` counts values that differ from the imported model's value
    of the same name. `values_stage` is the stage under which the values are stored, null if no
    values are stored.
    """

    stage: int
    name: str
    changed: bool
    has_moved: bool
    moved: float | None
    n_moved: int
    values_stage: int | None


class WrongRewrite(TypedDict):
    """A rewrite that is wrong in isolation; `step` is the rewrite's index in its stage's steps, or
    -1."""

    stage: int
    step: int
    pass_name: str
    rule: str
    at: str
    kind: str
    objection: str
    relative_error: float | None


class CheckedRewrites(TypedDict):
    """Rewrites checked in isolation within the time limit; equal rewrites are checked once."""

    n_applied: int
    n_judged: int
    wrong: list[WrongRewrite]


class Numerics(Payload):
    """The findings of a check so far.

    `yardstick` names the reference. `kinds` are the kinds of inputs. `narrow` lists nodes that
    cannot be computed in f64; there are `n_narrow` such nodes.
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
    """Errors of a value against f64; `moved` is true if it differs from the imported model's value.

    `node` is the id of the node that produces the value. `counts` is a histogram of elements by
    error in ULP. `places` are the upper bounds of the bins, of which the last is unbounded.
    """

    name: str
    node: str
    absolute_error: float | None
    relative_error: float | None
    ulps: float | None
    moved: bool
    counts: list[int]


class CheckedValues(Payload):
    """Those values of a stage that also occur in the imported model, in evaluation order.

    `n_values` counts all values of the stage.
    """

    stage: int
    tolerance: float
    n_values: int
    places: list[float]
    values: list[CheckedValue]
