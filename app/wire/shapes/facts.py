"""Errors, and what does not depend on a job: server, samples, pipelines, operators, uploads."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

Version = Literal[1]


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


class Failure(TypedDict):
    """The one shape of an error answer."""

    version: Version
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


class About(TypedDict):
    """Facts about the server."""

    version: Version
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


class Samples(TypedDict):
    """All sample models."""

    version: Version
    samples: list[Sample]


class Option(TypedDict):
    """An option of a pass: its default as written in a pipeline, and in words what it takes."""

    name: str
    type: str
    default: str
    choices: list[str]
    words: str


class Pass(TypedDict):
    """A pass that pipelines may name."""

    name: str
    kind: Literal["rules", "graph", "analysis"]
    words: str
    options: list[Option]
    rules: list[str]
    needs: list[str]
    gives: list[str]
    example: str
    source: str


class RuleExample(TypedDict):
    """A rule at work: two graphs as text."""

    before: str
    after: str


class Rule(TypedDict):
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


class Pipelines(TypedDict):
    """Presets, passes and rules."""

    version: Version
    presets: list[Preset]
    precisions: list[PrecisionInfo]
    passes: list[Pass]
    rules: list[Rule]


class PipelineText(TypedDict):
    """A pipeline as text, to be checked."""

    text: str


class CheckedPass(TypedDict):
    """A pass with all its options."""

    name: str
    options: dict[str, Any]


class CheckedPipeline(TypedDict):
    """A pipeline in its normal form; `advice` says where another order would find more to do."""

    version: Version
    text: str
    passes: list[CheckedPass]
    advice: list[str]


class Operator(TypedDict):
    """An operator's words for the page."""

    name: str
    family: str
    words: str
    signature: str
    source: str


class Operators(TypedDict):
    """All operators that have a declaration."""

    version: Version
    operators: list[Operator]


class ErrorCode(TypedDict):
    """A row of the table of error codes."""

    code: str
    meaning: str
    hint: str


class ErrorCodes(TypedDict):
    """The table of error codes."""

    version: Version
    errors: list[ErrorCode]


class Upload(TypedDict):
    """What is known of an upload before a job reads it."""

    version: Version
    id: str
    name: str
    bytes: int
