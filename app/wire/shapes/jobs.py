"""Jobs, and the summary of their results."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from app.wire.asked import Asked
from app.wire.shapes import Payload
from app.wire.shapes.facts import Host, Problem
from app.wire.shapes.lessons import JudgeRequest, LessonRequest
from app.wire.shapes.profiles import Disturbance
from app.wire.shapes.stages import KernelPart
from compiler.figures.execution import Execution
from compiler.figures.memory import PlanFigures
from compiler.machine.roofline import Bound

JobState = Literal["queued", "running", "succeeded", "failed", "cancelled"]


class SampleChoice(TypedDict):
    """A built-in model."""

    sample: str


class UploadChoice(TypedDict):
    """An uploaded model."""

    upload: str


ModelChoice = SampleChoice | UploadChoice


class JobOptions(TypedDict, total=False):
    """The options of a job."""

    target: str
    precision: str
    threads: int
    measure: bool
    check: bool
    accuracy: bool
    seed: int


class JobRequest(TypedDict):
    """The request of a new job; `pipeline` is the name of a preset or the text of a pipeline.

    `tuned` is the tuning job whose schedules are used, "" for none. `without` names disabled rules.
    """

    kind: Literal["compile", "inspect"]
    model: ModelChoice
    pipeline: NotRequired[str]
    shapes: NotRequired[dict[str, list[int]]]
    options: NotRequired[JobOptions]
    tuned: NotRequired[str]
    without: NotRequired[list[str]]


class Job(Payload):
    """The state of a job.

    `wait_s` is the estimated waiting time of a queued job in seconds; null if it is unknown.
    `machine` is the name of the machine that runs or ran the job, "" before its first attempt.
    """

    id: str
    kind: str
    state: JobState
    position: int
    wait_s: float | None
    phase: str
    n_stages: int
    last_event: int
    created: float
    seconds: float
    error: Problem | None
    request: JobRequest | LessonRequest | JudgeRequest | Asked
    model_name: str
    machine: str


class Beside(Payload):
    """The stored jobs that have examined another job's result, newest first.

    `report` is the command line that writes a report with all findings, "" if no report is
    possible.
    """

    jobs: list[Job]
    report: str


class OperatorCount(TypedDict):
    """The number of nodes of an operator."""

    op: str
    count: int


class Model(TypedDict):
    """Facts about an imported model.

    `n_onnx_nodes` counts the nodes of the file, and `n_nodes` those of the imported graph.
    `precisions` lists the precision modes that suit the model.
    """

    name: str
    source: Literal["sample", "upload"]
    id: str
    bytes: int
    n_onnx_nodes: int
    n_nodes: int
    n_constants: int
    n_parameters: int
    constant_bytes: int
    operators: list[OperatorCount]
    precisions: list[str]


class TypedName(TypedDict):
    """A value's name and type as text."""

    name: str
    type: str


class Shape(TypedDict):
    """The shape of an input in the compilation.

    `assumed` is true if neither model nor user defines the shape.
    """

    dims: list[int | str]
    assumed: bool


class Timing(TypedDict):
    """The duration of a phase."""

    phase: str
    seconds: float


class Stage(TypedDict):
    """The graph after a pass; stage 0 is the imported graph.

    `pass_number` is the position of the pass in the order of execution, from 1; it is null for the
    imported graph and for "specialise", which no pass made. `value_bytes` is null while a size is
    open.
    """

    stage: int
    pass_number: int | None
    name: str
    words: str
    changed: bool
    graph_stage: int
    seconds: float
    verify_seconds: float
    n_nodes: int
    n_constants: int
    constant_bytes: int
    value_bytes: int | None
    n_applied: int
    n_declined: int


class Passes(TypedDict):
    """Figures of all passes that have ended; `seconds` excludes verification."""

    n_passes: int
    n_changed: int
    seconds: float
    verify_seconds: float


class Kernel(TypedDict):
    """A kernel of the program; the measured figures are null if the kernel was not measured.

    `low_s` to `high_s` is the 95 % confidence interval of `median_s`. `predicted_s` is the lower
    bound of the kernel's time, from the measured or estimated speeds of the machine. `bound` is the
    limiting resource: compute, L1, L2, L3, DRAM or overhead. `words` is the family of a native
    kernel, or the reason for a fallback. `text_kernel` is the first kernel with the same function;
    their texts are equal. For a kernel in a region of a control-flow node, `region` is the name of
    the region, and `inside` is the kernel of the node. Such a kernel is not measured separately.
    """

    kernel: int
    name: str
    op: str
    node: str
    origins: list[str]
    inside: int | None
    region: str
    native: bool
    words: str
    function: str
    flops: int
    bytes_read: int
    bytes_written: int
    bytes: int
    predicted_s: float | None
    bound: Bound | Literal[""]
    median_s: float | None
    min_s: float | None
    low_s: float | None
    high_s: float | None
    gflops: float | None
    gbytes_per_s: float | None
    parts: list[KernelPart]
    text_kernel: int


class Specialization(TypedDict):
    """Code that was generated at run time, with the reason. Parameters are text. Units: seconds."""

    shapes: dict[str, list[int]]
    parameters: dict[str, str]
    seconds: float
    because: str


class Running(Execution):
    """The division of a run into generated code and fallbacks to the reference.

    `n_native` and `n_fallback` count launches, `n_inside` the kernels inside launches, and
    `n_crossings` the switches between generated code and the reference. `flops` excludes the
    `n_uncounted` fallbacks whose operators declare no operations; if there are such fallbacks,
    `native_share` is null. `predicted_s` is the sum of the lower bounds of all launches, null if a
    fallback has none.
    """

    predicted_s: float | None
    weight_bytes: int
    serves_all_sizes: bool
    notes: list[str]
    specializations: list[Specialization]


class Buffer(TypedDict):
    """A buffer of the arena, live in the half-open range [start, end) of launch steps."""

    buffer: int
    name: str
    start: int
    end: int
    offset: int
    size: int
    values: list[str]


class Handover(TypedDict):
    """The buffer with index `after` reuses `n_bytes` bytes of the buffer with index `before`."""

    before: int
    after: int
    n_bytes: int


class Method(TypedDict):
    """Name and description of a planner, or of a method to find an order."""

    name: str
    words: str
    source: NotRequired[str]


class LaunchOrder(TypedDict):
    """The effect of the launch order on memory. Units: bytes; `live_bytes` has a figure per launch.

    Fields with `given_` describe the launch order after the passes, before reordering. `method`
    found another order, with the help of the methods in `found_by`. `is_taken` is true if the
    program uses this other order: its arena is smaller, or the user requested a method other than
    `best` and `dp`. `is_lowest` is true if no order has a lower peak.
    """

    method: Method
    found_by: list[Method]
    is_changed: bool
    is_taken: bool
    is_lowest: bool
    given_peak_bytes: int
    peak_bytes: int
    given_arena_bytes: int
    arena_bytes: int
    given_live_bytes: list[int]
    live_bytes: list[int]


class Memory(PlanFigures):
    """The memory plan of the arena. Units: bytes; `live_bytes` and `used_bytes` have a figure per
    step.

    `used_bytes` is the end of the highest live buffer. `fullest_step` is the step with the peak.
    The size of the arena is `peak_bytes`; without sharing of memory it would be `unshared_bytes`.
    Both sizes include alignment gaps between buffers. No plan is smaller than `lower_bound_bytes`;
    `over_bound` is the part of the arena above this bound, relative to the bound. `idle_share` is
    the share of occupied bytes that are not live. `order` is null if sizes are open.
    """

    planner: Method | None
    order: LaunchOrder | None
    n_steps: int
    live_bytes: list[int]
    used_bytes: list[int]
    fullest_step: int
    handovers: list[Handover]
    buffers: list[Buffer]


class Run(TypedDict):
    """Times of whole runs on random inputs; if nothing was measured, `skipped` is the reason.

    `flops_per_s` is the program's operations per second of the median run.
    """

    median_s: float | None
    min_s: float | None
    low_s: float | None
    high_s: float | None
    flops_per_s: float | None
    repeats: int
    threads: int
    seed: int
    skipped: str
    disturbance: Disturbance | None


class OutputError(TypedDict):
    """The error of an output against our reference; `scale` is the reference's largest
    magnitude."""

    name: str
    max_abs_error: float | None
    scale: float | None
    relative_error: float | None


class Check(TypedDict):
    """The errors of the program against our reference, on random inputs; `Numerics` has the errors
    against onnx.reference."""

    outputs: list[OutputError]
    seed: int
    skipped: str


class Accuracy(TypedDict):
    """The accuracy of the imported graph and of the program on labelled samples."""

    n: int
    reference: float
    compiled: float
    n_agree: int
    words: str


class Empty(TypedDict):
    """Values without elements for the sizes of the compilation.

    `outputs` are the names of outputs. `n_values` counts the other computed values that are empty
    only because of these sizes; `first` is the first of them.
    """

    outputs: list[str]
    n_values: int
    first: str


class Result(Payload):
    """The summary of a job; parts that the job has not computed are null or empty."""

    job: str
    state: JobState
    complete: bool
    error: Problem | None
    model: Model
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
    passes: Passes
    kernels: list[Kernel]
    running: Running | None
    memory: Memory | None
    run: Run | None
    check: Check | None
    accuracy: Accuracy | None
    empty: Empty
