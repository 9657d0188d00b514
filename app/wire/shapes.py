"""Every payload as a typed dictionary; the OpenAPI description is made from these classes."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

Version = Literal[1]
Mark = Literal["", "added", "changed"]
JobState = Literal["queued", "running", "succeeded", "failed", "cancelled"]


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
    """A rewrite rule; `exact` is false when results may round differently."""

    name: str
    words: str
    pattern: str
    exact: bool
    example: RuleExample
    source: str


class Preset(TypedDict):
    """A pipeline with a name; `lines` gives the reason for each pass."""

    name: str
    words: str
    text: str
    lines: list[PresetLine]


class PresetLine(TypedDict):
    """One pass of a preset and why it stands there."""

    text: str
    because: str


class Pipelines(TypedDict):
    """Presets, passes and rules."""

    version: Version
    presets: list[Preset]
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


class ModelChoice(TypedDict, total=False):
    """Which model: exactly one of the two."""

    sample: str
    upload: str


class JobOptions(TypedDict, total=False):
    """What a job does besides compiling."""

    target: str
    precision: str
    threads: int
    measure: bool
    check: bool
    accuracy: bool
    seed: int


class JobRequest(TypedDict):
    """What a new job is to do; `pipeline` is a preset's name or a pipeline's text."""

    kind: Literal["compile", "inspect"]
    model: ModelChoice
    pipeline: NotRequired[str]
    shapes: NotRequired[dict[str, list[int]]]
    options: NotRequired[JobOptions]


class Job(TypedDict):
    """Where a job stands."""

    version: Version
    id: str
    kind: str
    state: JobState
    position: int
    phase: str
    n_stages: int
    last_event: int
    created: float
    seconds: float
    error: Problem | None
    request: JobRequest
    model_name: str


class OperatorCount(TypedDict):
    """How many nodes of an operator."""

    op: str
    count: int


class Model(TypedDict):
    """Facts about a model as it was read."""

    name: str
    source: Literal["sample", "upload"]
    id: str
    bytes: int
    n_nodes: int
    n_constants: int
    n_parameters: int
    constant_bytes: int
    operators: list[OperatorCount]


class TypedName(TypedDict):
    """A value's name and type as text."""

    name: str
    type: str


class Shape(TypedDict):
    """The shape an input is compiled for; `assumed` when neither model nor user gave it."""

    dims: list[int | str]
    assumed: bool


class Timing(TypedDict):
    """How long a phase took."""

    phase: str
    seconds: float


class Stage(TypedDict):
    """The graph after a pass; stage 0 is the graph as it was read."""

    stage: int
    name: str
    words: str
    changed: bool
    graph_stage: int
    seconds: float
    verify_seconds: float
    n_nodes: int
    n_constants: int
    constant_bytes: int
    n_applied: int
    n_declined: int


class Kernel(TypedDict):
    """A launch of the program; four figures are null when it was not measured.

    `words`: the family of a native kernel, or why a fallback is one. `text_kernel` is the first
    kernel that runs the same function; their texts are the same.
    """

    kernel: int
    name: str
    node: str
    origins: list[str]
    native: bool
    words: str
    function: str
    flops: int
    bytes_read: int
    bytes_written: int
    median_s: float | None
    min_s: float | None
    gflops: float | None
    gbytes_per_s: float | None
    parts: list[str]
    text_kernel: int


class Buffer(TypedDict):
    """Memory alive in [start, end) launch steps."""

    buffer: int
    name: str
    start: int
    end: int
    offset: int
    size: int
    values: list[str]


class Memory(TypedDict):
    """The plan of the arena. Units: bytes."""

    peak_bytes: int
    lower_bound_bytes: int
    n_steps: int
    buffers: list[Buffer]


class Run(TypedDict):
    """Whole runs on random inputs, timed; `skipped` says why there are none."""

    median_s: float | None
    min_s: float | None
    repeats: int
    threads: int
    seed: int
    skipped: str


class OutputError(TypedDict):
    """How far an output is from the reference; `scale` is the reference's largest magnitude."""

    name: str
    max_abs_error: float | None
    scale: float | None
    relative_error: float | None


class Check(TypedDict):
    """The program against the reference on random inputs."""

    outputs: list[OutputError]
    seed: int
    skipped: str


class Accuracy(TypedDict):
    """Labelled samples through the imported graph and through the program."""

    n: int
    reference: float
    compiled: float
    n_agree: int
    words: str


class Result(TypedDict):
    """The summary of a job; parts that were not reached are null or empty."""

    version: Version
    job: str
    state: JobState
    complete: bool
    error: Problem | None
    model: Model | None
    inputs: list[TypedName]
    outputs: list[TypedName]
    shapes: dict[str, Shape]
    pipeline: str
    options: JobOptions
    reproduce: str
    versions: dict[str, str]
    host: Host
    timings: list[Timing]
    result_prefix: str
    stages: list[Stage]
    kernels: list[Kernel]
    memory: Memory | None
    run: Run | None
    check: Check | None
    accuracy: Accuracy | None


class GraphNode(TypedDict):
    """A node, an input or a result of a graph."""

    id: str
    kind: Literal["node", "input", "result"]
    name: str
    op: str
    family: str
    outputs: list[str]
    types: list[str]
    inputs: list[str]
    attrs: dict[str, str]
    origins: list[str]
    mark: Mark
    regions: dict[str, Region]


class GraphConstant(TypedDict):
    """A constant: not drawn, but listed."""

    name: str
    type: str
    storage: Literal["splat", "literal", "blob", "file"]
    text: str
    bytes: int
    stored_bytes: int
    origins: list[str]
    readers: list[str]
    mark: Mark


class Region(TypedDict):
    """A graph inside a node: the body of a fusion, or of control flow."""

    nodes: list[GraphNode]
    edges: list[list[Any]]
    constants: list[GraphConstant]


class StageGraph(TypedDict):
    """The graph of a stage, marked against the stage before. Edge: [from, to, operand, value]."""

    version: Version
    stage: int
    graph_stage: int
    name: str
    nodes: list[GraphNode]
    edges: list[list[Any]]
    constants: list[GraphConstant]
    removed: list[str]
    removed_constants: list[str]


class Step(TypedDict):
    """A rewrite that was applied, or considered and declined."""

    rule: str
    outcome: Literal["applied", "declined"]
    because: str
    at: str
    took: list[str]
    made: list[str]
    exact: bool


class Steps(TypedDict):
    """The steps of a pass, a page of them; `n_dropped` were too many to be kept."""

    version: Version
    stage: int
    n_steps: int
    n_dropped: int
    offset: int
    steps: list[Step]


class StageText(TypedDict):
    """A stage's graph as text; a span is [first line, number of lines, id]."""

    version: Version
    stage: int
    graph_stage: int
    n_lines: int
    cut: int
    text: str
    spans: list[list[Any]]


class Diff(TypedDict):
    """Two stages' texts; a row is [mark, old line, new line, text]."""

    version: Version
    stage: int
    against: int
    n_added: int
    n_removed: int
    cut: int
    rows: list[list[Any]]


class UnionNode(TypedDict):
    """A node of the drawing; present in the half-open ranges `stages`. Units: px at zoom 1."""

    key: str
    id: str
    stages: list[list[int]]
    width: int
    height: int


class UnionGroup(TypedDict):
    """Neighbours drawn as one. Units: px at zoom 1."""

    key: str
    label: str
    members: list[str]
    width: int
    height: int


class Union(TypedDict):
    """All stages' nodes in one drawing, as DOT without any text of the model."""

    version: Version
    dot: str
    n_nodes: int
    n_drawn: int
    collapsed: bool
    nodes: list[UnionNode]
    groups: list[UnionGroup]


class KernelText(TypedDict):
    """One level of one kernel as text."""

    version: Version
    kernel: int
    part: str
    text: str
    n_lines: int
    cut: int


class Origin(TypedDict):
    """An ONNX node, and what was made of it; `nodes` and `constants` have the ids by stage."""

    name: str
    op: str
    nodes: dict[str, list[str]]
    constants: dict[str, list[str]]
    kernels: list[int]
    buffers: list[int]
    functions: list[str]


class Provenance(TypedDict):
    """From ONNX nodes to stages' nodes, kernels, buffers and functions."""

    version: Version
    onnx: list[Origin]
