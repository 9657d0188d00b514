"""Errors, and facts independent of jobs: server, samples, pipelines, operators, uploads."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from app.wire.shapes import Payload
from compiler.passes.engine.declaration import PassKind


class Where(TypedDict):
    """A position in a text or model of the user; 0 and "" mean unknown."""

    source: str
    line: int
    column: int
    length: int
    node: str


class Problem(TypedDict):
    """An error: its code, message, position, notes and hint."""

    code: str
    message: str
    where: Where
    notes: list[str]
    hint: str
    trace_id: NotRequired[str]


class Failure(Payload):
    """The content of every error answer: the problem details of RFC 9457, with our own as `error`.

    `type` is the address of the page about the error code, `title` the meaning of the code.
    """

    type: str
    title: str
    status: int
    detail: str
    ok: Literal[False]
    error: Problem


class Limits(TypedDict):
    """The limits relevant to users. The field names contain the units."""

    upload_limit_bytes: int
    job_limit_s: float
    memory_limit_bytes: int
    output_limit_bytes: int
    queue_limit: int
    n_workers: int
    drawn_nodes_limit: int


class Host(TypedDict):
    """The machine that runs the programs."""

    name: str
    triple: str
    vector_bytes: int


class MachineFacts(TypedDict):
    """The description of a machine. Sizes of caches are per core, `l3_bytes` in total."""

    processor: str
    triple: str
    features: list[str]
    vector_bytes: int
    n_processors: int
    l1d_bytes: int
    l2_bytes: int
    l3_bytes: int


class MachineAtWork(TypedDict):
    """A machine that runs jobs; times of machines of different kinds are never compared."""

    name: str
    kind: str
    facts: MachineFacts


class About(Payload):
    """Facts about the server, and the machines that run its jobs."""

    program: str
    limits: Limits
    versions: dict[str, str]
    host: Host
    machines: list[MachineAtWork]


class Sandbox(Payload):
    """Whether this server isolates models and texts, as its self-test has found.

    `unknown`: not tested. `absent`: uploads and written models are refused. `waived`: they run
    without isolation, as the user of the server has decided. `obstacle` and `fix` are "" unless the
    sandbox is absent or waived; `fix` is the remedy.
    """

    state: Literal["unknown", "complete", "absent", "waived"]
    obstacle: str
    fix: str


class Sample(TypedDict):
    """A built-in model. `n_onnx_nodes` counts the nodes of the file. `shapes` suggests sizes for
    open dimensions.

    `precisions` lists the precision modes that suit the model.
    """

    id: str
    title: str
    words: str
    bytes: int
    n_onnx_nodes: int
    weights: Literal["trained", "seeded"]
    has_labels: bool
    accuracy: float | None
    shapes: dict[str, list[int]]
    precisions: list[str]


class Samples(Payload):
    """All sample models."""

    samples: list[Sample]


class PassOption(TypedDict):
    """An option of a pass: its default, written as in a pipeline, and a description of its
    values."""

    name: str
    type: str
    default: str
    choices: list[str]
    words: str


class RuleExample(TypedDict):
    """An example of a rule's application: the graphs before and after, as text."""

    before: str
    after: str


class StepKind(TypedDict):
    """A kind of step of a pass without rules; `near_miss` is a similar graph without a step.

    `near_miss_because` is the reason that the pass records for the near miss, "" for none. An
    analysis changes no graph: both graphs of its example are equal, and it has no near miss.
    """

    name: str
    words: str
    example: RuleExample
    near_miss: str
    near_miss_because: str


class PassInfo(TypedDict):
    """A pass for use in pipelines. Each of its steps names one of its `rules` or `steps`."""

    name: str
    kind: PassKind
    words: str
    options: list[PassOption]
    rules: list[str]
    steps: list[StepKind]
    needs: list[str]
    gives: list[str]
    example: str
    source: str


class RuleInfo(TypedDict):
    """A rewrite rule; `exact` is false if results may round differently.

    `near_miss` is a similar graph that the rule does not rewrite, for the reason in
    `near_miss_because`. `error` is the error budget of an inexact rule, relative to the scale of
    results.
    """

    name: str
    words: str
    pattern: str
    exact: bool
    error: float
    example: RuleExample
    near_miss: str
    near_miss_because: str
    source: str


class Preset(TypedDict):
    """A pipeline with a name; `lines` gives the reason for each pass.

    `imitates` is the compiler whose pipeline the preset imitates with our passes, "" for our own.
    """

    name: str
    words: str
    imitates: str
    text: str
    lines: list[PresetLine]


class PrecisionInfo(TypedDict):
    """A precision mode: its guarantee, and the tolerance of model outputs relative to their
    scale.

    `needs` is the requirement on models, "" if the mode suits every model. See `precisions` of
    `Sample` and of `Model`.
    """

    name: str
    words: str
    tolerance: float
    needs: str


class PresetLine(TypedDict):
    """One pass of a preset, and the reason for its position."""

    text: str
    because: str


class Pipelines(Payload):
    """Presets, passes and rules; steps of any pass may name a kind of `shared_steps`."""

    presets: list[Preset]
    precisions: list[PrecisionInfo]
    passes: list[PassInfo]
    rules: list[RuleInfo]
    shared_steps: list[StepKind]


class PipelineText(TypedDict):
    """A pipeline as text, to be checked."""

    text: str


class CheckedPass(TypedDict):
    """A pass with the values of all its options."""

    name: str
    options: dict[str, str | int | float]


class CheckedPipeline(Payload):
    """A pipeline in normal form; `advice` suggests more effective positions of passes."""

    text: str
    passes: list[CheckedPass]
    advice: list[str]


class OperatorInfo(TypedDict):
    """The description of an operator, for the page."""

    name: str
    family: str
    words: str
    signature: str
    source: str


class Operators(Payload):
    """All declared operators."""

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
    """The facts about an upload that are known before a job reads the file."""

    id: str
    name: str
    bytes: int
