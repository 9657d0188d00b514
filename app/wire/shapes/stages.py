"""Graphs by stage, steps, texts, the drawing, and provenance."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from app.grouping.tree import Kind as GroupKind
from app.textdiff import Mark as DiffMark
from app.wire.shapes import Payload
from compiler.ledger import Verdict
from compiler.machine.machine import Level
from compiler.trace import Outcome

KernelPart = Literal["computation", "schedule", "loops", "llvm", "asm"]
StorageKind = Literal["splat", "seeded", "literal", "blob", "file"]
Edge = tuple[str, str, int, str]
Span = tuple[int, int, str]
Inside = tuple[str, str]
DiffRow = tuple[DiffMark, int | None, int | None, str]


class GraphNode(TypedDict):
    """A node, an input or a result of a graph, or of a body of a control-flow node.

    The `id` of a node is its first output in the stage that created it. The node keeps its id when
    it computes another value later. For a node in a body, `inside` is the id of the control-flow
    node and the name of its region. The `id` of such a node is the way to the body, followed by the
    first output; `outputs` and `inputs` have the names of the body. `regions` has the body of a
    fusion.
    """

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
    inside: NotRequired[Inside]


class GraphConstant(TypedDict):
    """A constant: listed, but not drawn. Inside a body, nodes read it under the name `value`."""

    name: str
    type: str
    storage: StorageKind
    text: str
    bytes: int
    stored_bytes: int
    origins: list[str]
    readers: list[str]
    value: NotRequired[str]


class Region(TypedDict):
    """A graph inside a node: the body of a fusion."""

    nodes: list[GraphNode]
    edges: list[Edge]
    constants: list[GraphConstant]


class Marks(TypedDict):
    """The nodes and constants that differ from the previous stage.

    Only the types of `refined` nodes differ: open sizes became numbers, or an open rank is known.
    """

    added: list[str]
    changed: list[str]
    refined: list[str]
    removed: list[str]


class StageFacts(Payload, Marks):
    """The stage of a graph, and the nodes and constants that the pass of this stage changed."""

    stage: int
    graph_stage: int
    name: str


class StageGraph(StageFacts, Region):
    """The graph of a stage, with the nodes in bodies of control flow; a node precedes its bodies.

    An edge is [from, to, operand, value]; an edge from a captured value leads into the body.
    """


class StageDelta(StageFacts):
    """The delta from the graph of stage `against` (-1: the empty graph) to the graph of a stage.

    A piece is [start, end, items]: the old items from start to before end, then new items.
    """

    against: int
    nodes: list[tuple[int, int, list[GraphNode]]]
    edges: list[tuple[int, int, list[Edge]]]
    constants: list[tuple[int, int, list[GraphConstant]]]


class Saved(TypedDict):
    """The savings of a rewrite according to the declared costs; negative numbers are extra costs.

    `bytes` is the sum of `bytes_written` and `bytes_read`; `seconds` is a roofline estimate, for
    values in the memory level `supplied_by`.
    """

    flops: int
    bytes: int
    bytes_written: int
    bytes_read: int
    seconds: float
    supplied_by: Level


class Step(TypedDict):
    """An applied or declined rewrite; `at`, `took` and `made` are ids of nodes and constants.

    `error` bounds the change of results, relative to their scale; `seconds` is the compile time of
    the step.
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
    """A page of the list of a pass's steps; `n_dropped` steps beyond the limit were not stored."""

    stage: int
    n_steps: int
    n_dropped: int
    offset: int
    steps: list[Step]


class CutText(TypedDict):
    """A text of `n_lines` lines, of which the last `cut` are omitted."""

    n_lines: int
    cut: int
    text: str


class StageText(Payload, CutText):
    """A stage's graph as text; a span is [first line, number of lines, id]."""

    stage: int
    graph_stage: int
    spans: list[Span]


class TextDiff(TypedDict):
    """The diff of two texts; a row is [mark, old line, new line, text], with lines counted from 0.

    A row ["…", n, null, ""] stands for n equal lines.
    """

    n_added: int
    n_removed: int
    cut: int
    rows: list[DiffRow]


class StageDiff(Payload, TextDiff):
    """The diff of the texts of two stages; `against` is the stage of the old text."""

    stage: int
    against: int


class UnionNode(TypedDict):
    """A node of the drawing, in a group; the node exists in the half-open ranges `stages`. Units:
    px.

    The `group` of a control-flow node is the group of its bodies, which is drawn in its place.
    """

    key: str
    id: str
    stages: list[tuple[int, int]]
    group: str
    width: int
    height: int


class UnionGroup(TypedDict):
    """A group of nodes and groups, drawn as one box while closed, and laid out by `dot` while open.
    Units: px.

    A group of kind `region` contains the bodies of a control-flow node; `node` is the id of this
    node.
    """

    key: str
    label: str
    kind: GroupKind
    times: int
    group: str
    open: bool
    width: int
    height: int
    dot: str
    node: NotRequired[str]


class Union(Payload):
    """The nodes of all stages in one drawing, as nested DOT texts without names of the model."""

    dot: str
    n_nodes: int
    n_drawn: int
    collapsed: bool
    nodes: list[UnionNode]
    groups: list[UnionGroup]


class ScheduleStep(TypedDict):
    """The effect of the move in a line of a schedule, and the loops of the nest after the move."""

    words: str
    outline: str


class KernelText(Payload, CutText):
    """One level of one kernel as text; `steps` has an entry for each line of a schedule."""

    kernel: int
    part: KernelPart
    steps: list[ScheduleStep]


class KernelOfJob(TypedDict):
    """A kernel of a job, as one side of a comparison."""

    job: str
    kernel: int


class KernelDiff(Payload, TextDiff):
    """The diff of two kernels at one level; `against` is the kernel of the old text."""

    part: KernelPart
    kernel: int
    against: KernelOfJob


class KernelLinks(Payload):
    """Links between the lines of a kernel's texts; a list is empty if its links are unknown.

    `llvm` maps each line of LLVM IR to the line of Loop IR that it implements; `asm` maps each line
    of assembly to a line of LLVM IR. Lines count from 0; -1 stands for no link.
    """

    kernel: int
    llvm: list[int]
    asm: list[int]


class Chapter(TypedDict):
    """A step of the ledger that concerns two neighbouring nodes, and the stage of its pass."""

    stage: int
    pass_name: str
    rule: str
    outcome: Outcome
    at: str
    because: str


class Neighbour(TypedDict):
    """A node and its reader in the model, with the fusion verdict and the reason."""

    maker: str
    reader: str
    verdict: Verdict
    because: str
    chapters: list[Chapter]


class Neighbours(Payload):
    """The fusion verdicts of all edges of the model."""

    edges: list[Neighbour]


class OnnxNode(TypedDict):
    """An ONNX node; `nodes` and `constants` list the ids of its descendants by stage."""

    name: str
    op: str
    nodes: dict[str, list[str]]
    constants: dict[str, list[str]]
    kernels: list[int]
    buffers: list[int]
    functions: list[str]


class Provenance(Payload):
    """For each ONNX node, the resulting nodes of each stage, kernels, buffers and functions."""

    onnx: list[OnnxNode]
