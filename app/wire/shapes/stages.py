"""Graphs by stage, steps, texts, the drawing, and where everything came from."""

from __future__ import annotations

from typing import Literal, TypedDict

from app.grouping.tree import Kind as GroupKind
from app.textdiff import Mark as DiffMark
from app.wire.shapes import Payload
from compiler.ledger import Verdict
from compiler.trace import Outcome

KernelPart = Literal["computation", "schedule", "loops", "llvm", "asm"]
StorageKind = Literal["splat", "seeded", "literal", "blob", "file"]
Edge = tuple[str, str, int, str]
Span = tuple[int, int, str]
DiffRow = tuple[DiffMark, int | None, int | None, str]


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
    storage: StorageKind
    text: str
    bytes: int
    stored_bytes: int
    origins: list[str]
    readers: list[str]


class Region(TypedDict):
    """A graph inside a node: the body of a fusion, or of control flow."""

    nodes: list[GraphNode]
    edges: list[Edge]
    constants: list[GraphConstant]


class Marks(TypedDict):
    """The nodes and constants that differ from the stage before."""

    added: list[str]
    changed: list[str]
    removed: list[str]


class StageFacts(Payload, Marks):
    """Which stage a graph is of, and what its pass did to nodes and constants."""

    stage: int
    graph_stage: int
    name: str


class StageGraph(StageFacts, Region):
    """The graph of a stage. An edge is [from, to, operand, value]."""


class StageDelta(StageFacts):
    """What makes the graph of a stage of that of stage `against` (-1: of nothing).

    A piece is [start, end, items]: the old ones from start to before end, then new items.
    """

    against: int
    nodes: list[tuple[int, int, list[GraphNode]]]
    edges: list[tuple[int, int, list[Edge]]]
    constants: list[tuple[int, int, list[GraphConstant]]]


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
    outcome: Outcome
    because: str
    at: str
    took: list[str]
    made: list[str]
    exact: bool
    error: float
    source: str
    seconds: float
    saves: Saved | None


class Steps(Payload):
    """The steps of a pass, a page of them; `n_dropped` were too many to be kept."""

    stage: int
    n_steps: int
    n_dropped: int
    offset: int
    steps: list[Step]


class CutText(TypedDict):
    """A text of `n_lines`, of which the last `cut` were left out."""

    n_lines: int
    cut: int
    text: str


class StageText(Payload, CutText):
    """A stage's graph as text; a span is [first line, number of lines, id]."""

    stage: int
    graph_stage: int
    spans: list[Span]


class TextDiff(TypedDict):
    """Two texts; a row is [mark, old line, new line, text], lines from 0.

    A row ["…", n, null, ""] stands for n equal lines.
    """

    n_added: int
    n_removed: int
    cut: int
    rows: list[DiffRow]


class StageDiff(Payload, TextDiff):
    """The texts of two stages, old is `against`."""

    stage: int
    against: int


class UnionNode(TypedDict):
    """A node of the drawing, in a group; present in the half-open ranges `stages`. Units: px."""

    key: str
    id: str
    stages: list[tuple[int, int]]
    group: str
    width: int
    height: int


class UnionGroup(TypedDict):
    """Nodes and groups drawn as one while it is closed, by `dot` inside while open. Units: px."""

    key: str
    label: str
    kind: GroupKind
    times: int
    group: str
    open: bool
    width: int
    height: int
    dot: str


class Union(Payload):
    """All stages' nodes in one drawing, as nested DOT without any text of the model."""

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


class KernelText(Payload, CutText):
    """One level of one kernel as text; `steps` has an entry for each line of a schedule."""

    kernel: int
    part: KernelPart
    steps: list[ScheduleStep]


class KernelOfJob(TypedDict):
    """One kernel of one job."""

    job: str
    kernel: int


class KernelDiff(Payload, TextDiff):
    """One level of two kernels, old is `against`."""

    part: KernelPart
    kernel: int
    against: KernelOfJob


class KernelLinks(Payload):
    """Where lines of a kernel came from, counted from 0; -1 for none, empty where it is not known.

    For each line of the LLVM text its line of Loop IR; for each of the assembly its line of LLVM.
    """

    kernel: int
    llvm: list[int]
    asm: list[int]


class Chapter(TypedDict):
    """A step of the ledger that bears on two nodes, and the stage whose pass took it."""

    stage: int
    pass_name: str
    rule: str
    outcome: Outcome
    at: str
    because: str


class Neighbour(TypedDict):
    """Two nodes of the model of which one reads the other: one kernel or two, and why."""

    maker: str
    reader: str
    verdict: Verdict
    because: str
    chapters: list[Chapter]


class Neighbours(Payload):
    """The answers for all edges of the model."""

    edges: list[Neighbour]


class OnnxNode(TypedDict):
    """An ONNX node, and what was made of it; `nodes` and `constants` have the ids by stage."""

    name: str
    op: str
    nodes: dict[str, list[str]]
    constants: dict[str, list[str]]
    kernels: list[int]
    buffers: list[int]
    functions: list[str]


class Provenance(Payload):
    """From ONNX nodes to stages' nodes, kernels, buffers and functions."""

    onnx: list[OnnxNode]
