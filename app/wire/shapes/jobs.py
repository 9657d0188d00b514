"""Jobs, and the summary of their results."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from app.wire.asked import Asked
from app.wire.shapes import Payload
from app.wire.shapes.facts import Host, Problem
from app.wire.shapes.stages import KernelPart
from compiler.machine.roofline import Bound

JobState = Literal["queued", "running", "succeeded", "failed", "cancelled"]


class SampleChoice(TypedDict):
    """A model that ships."""

    sample: str


class UploadChoice(TypedDict):
    """A model that was uploaded."""

    upload: str


ModelChoice = SampleChoice | UploadChoice


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
    """What a new job is to do; `pipeline` is a preset's name or a pipeline's text.

    `tuned` is the tuning job whose schedules are used, "" for none; `without` has rules whose
    rewrites are not done.
    """

    kind: Literal["compile", "inspect"]
    model: ModelChoice
    pipeline: NotRequired[str]
    shapes: NotRequired[dict[str, list[int]]]
    options: NotRequired[JobOptions]
    tuned: NotRequired[str]
    without: NotRequired[list[str]]


class Job(Payload):
    """Where a job stands."""

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
    request: JobRequest | Asked
    model_name: str


class Beside(Payload):
    """Finished jobs about the result of another one that are still kept, the newest first.

    `report` is the command line that writes a report with all of it; "" when there is none.
    """

    jobs: list[Job]
    report: str


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
    value_bytes: int
    n_applied: int
    n_declined: int


class Kernel(TypedDict):
    """A launch of the program; six figures are null when it was not measured.

    `low_s` to `high_s` is the 95 % interval of `median_s`.
    `predicted_s` is what it needs at least by the speeds of the machine, which are measured or
    estimated, and `bound` what binds it: compute, L1, L2, L3, DRAM or overhead. `words`: the
    family of a native kernel, or why a fallback is one. `text_kernel` is the first kernel that runs
    the same function; their texts are the same. A kernel that runs in a region of a node is
    `inside` the kernel of that node, in `region`, and is not measured on its own.
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
    """Machine code made while running, and why. Elements of parameters are text. Units: seconds."""

    shapes: dict[str, list[int]]
    parameters: dict[str, str]
    seconds: float
    because: str


class Running(TypedDict):
    """How a run is divided between generated code and the reference.

    `n_native` and `n_fallback` count what is launched, `n_inside` the kernels within launches,
    `n_crossings` the changes between the two sides. Foreign operators count no `flops`.
    """

    n_native: int
    n_inside: int
    n_fallback: int
    n_crossings: int
    flops: int
    native_flops: int
    serves_all_sizes: bool
    notes: list[str]
    specializations: list[Specialization]


class Buffer(TypedDict):
    """Memory alive in [start, end) launch steps."""

    buffer: int
    name: str
    start: int
    end: int
    offset: int
    size: int
    values: list[str]


class Handover(TypedDict):
    """Bytes that one buffer lay in last before another; both are numbers of buffers."""

    before: int
    after: int
    n_bytes: int


class Method(TypedDict):
    """Something that has a name and words: a planner, or a way to find an order."""

    name: str
    words: str
    source: NotRequired[str]


class LaunchOrder(TypedDict):
    """What putting launches in order does to memory. Units: bytes, `live_bytes` by launch.

    `given_` is the order that the passes left; the other one was found by `method`, whose parts
    `found_by` names, and is taken where its arena is smaller. `is_lowest`: no order has a lower
    peak.
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


class Memory(TypedDict):
    """The plan of the arena. Units: bytes; `live_bytes` and `used_bytes` by step.

    Used is all below the end of the highest buffer alive. Most bytes are alive in `fullest_step`.
    The arena has `peak_bytes`: no plan can be below the lower bound, and without sharing it would
    be `unshared_bytes`; both count what alignment leaves between buffers.
    `order` is null where only a run tells the sizes.
    """

    planner: Method | None
    order: LaunchOrder | None
    peak_bytes: int
    lower_bound_bytes: int
    unshared_bytes: int
    n_steps: int
    live_bytes: list[int]
    used_bytes: list[int]
    fullest_step: int
    handovers: list[Handover]
    buffers: list[Buffer]


class Run(TypedDict):
    """Whole runs on random inputs, timed; `skipped` says why there are none."""

    median_s: float | None
    min_s: float | None
    low_s: float | None
    high_s: float | None
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


class Result(Payload):
    """The summary of a job; parts that were not reached are null or empty."""

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
    kernels: list[Kernel]
    running: Running | None
    memory: Memory | None
    run: Run | None
    check: Check | None
    accuracy: Accuracy | None
