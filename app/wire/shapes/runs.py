"""Runs of a compiled model on given inputs."""

from __future__ import annotations

from typing import TypedDict

from app.wire.shapes import Payload
from app.wire.shapes.profiles import Disturbance, ProfiledRun


class RunInput(TypedDict):
    """An input of a run: from the file of this name, or random if `file` is ""."""

    name: str
    type: str
    file: str


class RunClass(TypedDict):
    """One of the largest elements of a vector of classes; `share` is its probability.

    If the elements are not probabilities, `share` is the element's softmax.
    """

    index: int
    value: float
    share: float


class RunOutput(TypedDict):
    """An output of a run: its range, its first elements as text, and its largest classes.

    `is_stored` is true if the output can be downloaded. Sequences have no range.
    """

    output: int
    name: str
    type: str
    n_elements: int
    bytes: int
    is_stored: bool
    minimum: float | None
    maximum: float | None
    mean: float | None
    n_not_finite: int
    first: list[str]
    are_probabilities: bool
    classes: list[RunClass]


class RunResult(Payload):
    """A run of the program of compilation `job`; `times` and `disturbance` are null until the run
    is timed.

    `has_profile` is true if the run has times of the compilation's kernels.
    """

    job: str
    seed: int
    inputs: list[RunInput]
    outputs: list[RunOutput]
    times: ProfiledRun | None
    disturbance: Disturbance | None
    has_profile: bool
