"""Graphs by stage, steps, texts, the drawing, and where everything came from."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from app.wire.shapes.facts import Version


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
    regions: dict[str, Region]


class GraphConstant(TypedDict):
    """A constant: not drawn, but listed."""

    name: str
    type: str
    storage: Literal["splat", "seeded", "literal", "blob", "file"]
    text: str
    bytes: int
    stored_bytes: int
    origins: list[str]
    readers: list[str]


class Region(TypedDict):
    """A graph inside a node: the body of a fusion, or of control flow."""

    nodes: list[GraphNode]
    edges: list[list[Any]]
    constants: list[GraphConstant]


class StageGraph(TypedDict):
    """The graph of a stage, and which of its nodes and constants differ from the stage before.

    An edge is [from, to, operand, value].
    """

    version: Version
    stage: int
    graph_stage: int
    name: str
    nodes: list[GraphNode]
    edges: list[list[Any]]
    constants: list[GraphConstant]
    added: list[str]
    changed: list[str]
    removed: list[str]


class StageDelta(TypedDict):
    """What makes the graph of a stage of that of stage `against` (-1: of nothing).

    A piece is [start, end, items]: the old ones from start to before end, then new items.
    """

    version: Version
    stage: int
    graph_stage: int
    name: str
    against: int
    nodes: list[list[Any]]
    edges: list[list[Any]]
    constants: list[list[Any]]
    added: list[str]
    changed: list[str]
    removed: list[str]


class Saved(TypedDict):
    """What a rewrite saves by the declared costs; `seconds` are estimated by a roofline."""

    flops: int
    bytes: int
    seconds: float


class Step(TypedDict):
    """A rewrite that was applied, or considered and declined.

    `error` is what results may change by, relative to their scale; `seconds` were spent on it.
    """

    rule: str
    outcome: Literal["applied", "declined"]
    because: str
    at: str
    took: list[str]
    made: list[str]
    exact: bool
    error: float
    source: str
    seconds: float
    saves: Saved | None


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
    """A node of the drawing, in a group; present in the half-open ranges `stages`. Units: px."""

    key: str
    id: str
    stages: list[list[int]]
    group: str
    width: int
    height: int


class UnionGroup(TypedDict):
    """Nodes and groups drawn as one while it is closed, by `dot` inside while open. Units: px."""

    key: str
    label: str
    kind: Literal["scope", "repeat", "block", "stretch"]
    times: int
    group: str
    open: bool
    width: int
    height: int
    dot: str


class Union(TypedDict):
    """All stages' nodes in one drawing, as nested DOT without any text of the model."""

    version: Version
    dot: str
    n_nodes: int
    n_drawn: int
    collapsed: bool
    nodes: list[UnionNode]
    groups: list[UnionGroup]


class ScheduleStep(TypedDict):
    """What the move of one line of a schedule does, and the loops of its nest after it."""

    words: str
    outline: str


class KernelText(TypedDict):
    """One level of one kernel as text; `steps` has an entry for each line of a schedule."""

    version: Version
    kernel: int
    part: str
    text: str
    n_lines: int
    cut: int
    steps: list[ScheduleStep]


class KernelOfJob(TypedDict):
    """One kernel of one job."""

    job: str
    kernel: int


class KernelDiff(TypedDict):
    """One level of two kernels; a row is [mark, old line, new line, text], old of `against`."""

    version: Version
    part: str
    kernel: int
    against: KernelOfJob
    n_added: int
    n_removed: int
    cut: int
    rows: list[list[Any]]


class KernelLinks(TypedDict):
    """Where lines of a kernel came from, counted from 0; -1 for none, empty where it is not known.

    For each line of the LLVM text its line of Loop IR; for each of the assembly its line of LLVM.
    """

    version: Version
    kernel: int
    llvm: list[int]
    asm: list[int]


class Chapter(TypedDict):
    """A step of the ledger that bears on two nodes, and the stage whose pass took it."""

    stage: int
    pass_name: str
    rule: str
    outcome: Literal["applied", "declined"]
    at: str
    because: str


class Neighbour(TypedDict):
    """Two nodes of the model of which one reads the other: one kernel or two, and why."""

    maker: str
    reader: str
    verdict: Literal["together", "apart", "not neighbours", "gone"]
    because: str
    chapters: list[Chapter]


class Neighbours(TypedDict):
    """The answers for all edges of the model."""

    version: Version
    edges: list[Neighbour]


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
