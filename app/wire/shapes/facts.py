"""Errors, and what does not depend on a job: server, samples, pipelines, operators, uploads."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from app.wire.shapes import Payload
from compiler.passes.engine.declaration import PassKind


class Where(TypedDict):
    """A place in something the user gave; 0 and "" mean unknown."""

    source: str
    line: int
    column: int
    length: int
    node: str


class Problem(TypedDict):
    """What was needed and found, where, and what to do about it."""

    code: str
    message: str
    where: Where
    notes: list[str]
    hint: str
    trace_id: NotRequired[str]


class Failure(Payload):
    """The one shape of an error answer."""

    ok: Literal[False]
    error: Problem


class Limits(TypedDict):
    """What users meet. Units in the names."""

    upload_limit_bytes: int
    job_limit_s: float
    memory_limit_bytes: int
    output_limit_bytes: int
    queue_limit: int
    n_workers: int
    drawn_nodes_limit: int


class Host(TypedDict):
    """The machine that programs run on."""

    name: str
    triple: str
    vector_bytes: int


class About(Payload):
    """Facts about the server."""

    program: str
    limits: Limits
    versions: dict[str, str]
    host: Host


class Sample(TypedDict):
    """A model that ships. `shapes` suggests dims that the model leaves open."""

    id: str
    title: str
    words: str
    bytes: int
    n_nodes: int
    weights: Literal["trained", "seeded"]
    has_labels: bool
    accuracy: float | None
    shapes: dict[str, list[int]]


class Samples(Payload):
    """All sample models."""

    samples: list[Sample]


class PassOption(TypedDict):
    """An option of a pass: its default as written in a pipeline, and in words what it takes."""

    name: str
    type: str
    default: str
    choices: list[str]
    words: str


class PassInfo(TypedDict):
    """A pass that pipelines may name."""

    name: str
    kind: PassKind
    words: str
    options: list[PassOption]
    rules: list[str]
    needs: list[str]
    gives: list[str]
    example: str
    source: str


class RuleExample(TypedDict):
    """A rule at work: two graphs as text."""

    before: str
    after: str


class RuleInfo(TypedDict):
    """A rewrite rule; `exact` is false when results may round differently.

    `near_miss` is a graph that looks like the pattern and stays as it is; `error` the budget of a
    rule that is not exact, relative to the scale of results.
    """

    name: str
    words: str
    pattern: str
    exact: bool
    error: float
    example: RuleExample
    near_miss: str
    source: str


class Preset(TypedDict):
    """A pipeline with a name; `lines` gives the reason for each pass."""

    name: str
    words: str
    text: str
    lines: list[PresetLine]


class PrecisionInfo(TypedDict):
    """A precision mode: what it promises, and the error of a whole model, relative to its scale."""

    name: str
    words: str
    tolerance: float


class PresetLine(TypedDict):
    """One pass of a preset and why it stands there."""

    text: str
    because: str


class Pipelines(Payload):
    """Presets, passes and rules."""

    presets: list[Preset]
    precisions: list[PrecisionInfo]
    passes: list[PassInfo]
    rules: list[RuleInfo]


class PipelineText(TypedDict):
    """A pipeline as text, to be checked."""

    text: str


class CheckedPass(TypedDict):
    """A pass with all its options."""

    name: str
    options: dict[str, str | int | float]


class CheckedPipeline(Payload):
    """A pipeline in its normal form; `advice` says where another order would find more to do."""

    text: str
    passes: list[CheckedPass]
    advice: list[str]


class OperatorInfo(TypedDict):
    """An operator's words for the page."""

    name: str
    family: str
    words: str
    signature: str
    source: str


class Operators(Payload):
    """All operators that have a declaration."""

    operators: list[OperatorInfo]


class ErrorCode(TypedDict):
    """A row of the table of error codes."""

    code: str
    meaning: str
    hint: str


class ErrorCodes(Payload):
    """The table of error codes."""

    errors: list[ErrorCode]


class Upload(Payload):
    """What is known of an upload before a job reads it."""

    id: str
    name: str
    bytes: int
