"""Which values should lie alike in memory, and the layout that their bytes vote for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from compiler.ir.graph import Graph, Node
from compiler.ir.operator import OPERATORS
from compiler.ir.types import DType, TensorType
from compiler.ops.window import extent, output_dims, resolve_pads

FLEXIBLE_POOLS = {"max_pool", "average_pool", "lp_pool", "reduce_mean", "reduce_max", "reduce_sum"}
"""Operators that work on each channel alone, so that any layout of channels suits them."""


@dataclass
class Unit:
    """A node as a kernel: its main operator, and what it asks of its operands."""

    node: Node
    anchor: Node | None
    operand_of: dict[str, str]
    """Values inside a fusion's body by the operand they stand for."""


def unit_of(node: Node) -> Unit:
    """The kernel that a node or fusion is."""
    if node.op != "fusion":
        return Unit(node, node, {i: i for i in node.inputs if i})
    body = node.regions["body"]
    outer = {v.name: i for v, i in zip(body.inputs, node.inputs, strict=True)}
    anchors = [n for n in body.nodes if n.op in OPERATORS and kind_of(n) != "elementwise"]
    return Unit(node, anchors[0] if anchors else None, outer)


def kind_of(node: Node) -> str:
    """The kind of a node's operator; `opaque` for carried ones."""
    return OPERATORS[node.op].kind if node.op in OPERATORS else "opaque"


@dataclass
class Choice:
    """Components of values, and the votes for blocked (positive) or plain (negative) in bytes."""

    graph: Graph
    block: int
    parent: dict[str, str] = field(default_factory=dict)
    tally: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Bytes for and against blocks, by component."""

    def find(self, value: str) -> str:
        """The representative of a value's component."""
        root = value
        while self.parent.get(root, root) != root:
            root = self.parent[root]
        while self.parent.get(value, value) != root:
            self.parent[value], value = root, self.parent.get(value, value)
        return root

    def tie(self, values: Iterable[str]) -> None:
        """Values that should lie alike."""
        images = [v for v in values if self.is_image(v)]
        for a, b in pairwise(images):
            ra, rb = self.find(a), self.find(b)
            if ra != rb:
                self.parent[rb] = ra

    def is_image(self, value: str) -> bool:
        """Whether a value has channels and pixels, so that layouts apply."""
        t = self.graph.types.get(value)
        if not isinstance(t, TensorType) or not t.is_ranked or value in self.graph.constants:
            return False
        return t.rank in (3, 4, 5) and t.dtype is DType.f32 and isinstance(t.dims[1], int)

    def vote(self) -> None:
        """Tie values into components and count the bytes for and against blocks."""
        ballots: list[tuple[str, float]] = []
        for v in self.graph.inputs:
            ballots.append((v.name, -1.0))
        for r in self.graph.results:
            ballots.append((r.value, -1.0))
        for node in self.graph.nodes:
            ballots += self._ballots(unit_of(node))
        for value, weight in ballots:
            if self.is_image(value):
                t = self.graph.types[value]
                assert isinstance(t, TensorType)
                root, weighed = self.find(value), weight * t.assumed.n_elements * t.dtype.nbytes
                pro, contra = self.tally.get(root, (0.0, 0.0))
                self.tally[root] = (pro + max(weighed, 0.0), contra + max(-weighed, 0.0))

    def _ballots(self, unit: Unit) -> list[tuple[str, float]]:
        node, out = unit.node, unit.node.output
        same = [i for i in node.inputs if i and self._same_shape(i, out)]
        if is_flexible(unit, self.graph, self.block):
            self.tie([*(i for i in node.inputs if i and self._same_channels(i, out)), out])
            return []
        conv = unit.anchor
        if conv is None or conv.op != "conv" or len(node.outputs) != 1:
            return [(v, -1.0) for v in (*node.inputs, *node.outputs) if v]
        data = unit.operand_of[conv.inputs[0]]
        if not (self.is_image(data) and self.is_image(out)):
            return []
        epilogue = [i for i in same if i != data]
        self.tie([out, *epilogue])
        fit = blocked_fit(unit, self.graph, self.block)
        if fit == "no":
            return [(out, -4.0), (data, -4.0)]
        if fit == "both":
            self.tie([data, out])
            return [(out, 2.0)]
        t = self.graph.types[data]
        channels = t.assumed.static_shape[1] if isinstance(t, TensorType) else 0
        return [(out, 2.0), (data, 1.0 if channels >= self.block else 0.0)]

    def _same_shape(self, a: str, b: str) -> bool:
        ta, tb = self.graph.types[a], self.graph.types[b]
        return isinstance(ta, TensorType) and isinstance(tb, TensorType) and ta.shape == tb.shape

    def _same_channels(self, a: str, b: str) -> bool:
        """Whether two images have the same channels, or the first broadcasts along them."""
        ta, tb = self.graph.types[a], self.graph.types[b]
        if not (isinstance(ta, TensorType) and isinstance(tb, TensorType)):
            return False
        if not (self.is_image(a) and self.is_image(b)) or ta.rank != tb.rank:
            return False
        return ta.dims[1] != 1 or tb.dims[1] == 1

    def blocked(self, value: str) -> bool:
        """Whether a value's channels shall be blocked."""
        if not self.is_image(value):
            return False
        pro, contra = self.tally.get(self.find(value), (0.0, 0.0))
        return pro > contra

    def members(self, root: str) -> list[str]:
        """The values of a component, in the order of the graph."""
        return [v for v in self.graph.types if self.is_image(v) and self.find(v) == root]


def is_flexible(unit: Unit, graph: Graph, block: int) -> bool:
    """Whether a kernel treats every channel alike, so that it follows its operands' layout."""
    node, anchor = unit.node, unit.anchor
    if len(node.outputs) != 1 or not isinstance(node.type, TensorType):
        return False
    if anchor is None or kind_of(anchor) == "elementwise":
        return True
    if anchor.op in ("max_pool", "average_pool", "lp_pool", "resize"):
        return True
    if anchor.op in FLEXIBLE_POOLS:
        return bool(anchor.attrs["keepdims"]) and all(a >= 2 for a in anchor.attrs["axes"])
    if (
        anchor.op == "concat"
        and node.op == "concat"
        and node.type.rank > 1
        and anchor.attrs["axis"] in (1, 1 - node.type.rank)
    ):
        sizes = [t.dims[1] for i in node.inputs if isinstance(t := graph.types[i], TensorType)]
        return all(isinstance(c, int) and c % block == 0 for c in sizes[:-1])
    return False


def blocked_fit(unit: Unit, graph: Graph, block: int) -> str:
    """Whether a convolution can write blocked channels: `no`, `output`, or `both` with input."""
    conv = unit.anchor
    assert conv is not None
    weights = unit.operand_of.get(conv.inputs[1], conv.inputs[1])
    w = graph.constants.get(weights)
    if w is None or w.type.rank not in (3, 4, 5) or w.type.dtype is not DType.f32:
        return "no"
    n_out, per_group = w.type.static_shape[:2]
    groups = int(conv.attrs["groups"])
    if groups == 1:
        return "output" if n_out >= block else "no"
    if per_group == 1 and n_out == groups and n_out >= block:
        return "both"
    fits = per_group % block == 0 and (n_out // groups) % block == 0
    return "both" if fits else "no"


def reach_outside(unit: Unit, graph: Graph, t: TensorType) -> tuple[int, ...]:
    """How far a convolution's window reaches over the borders of its input t, in elements."""
    conv = unit.anchor
    assert conv is not None
    weights = graph.types[unit.operand_of[conv.inputs[1]]]
    assert isinstance(weights, TensorType)
    sizes, kernel = t.dims[2:], [d for d in weights.dims[2:] if isinstance(d, int)]
    if len(kernel) < len(sizes):
        return (0,) * len(sizes)  # how far only a run tells: such a convolution tests every place
    steps, taps = conv.attrs["strides"], conv.attrs["dilations"]
    window = (kernel, steps, conv.attrs["pads"], taps, conv.attrs["auto_pad"])
    before, after = resolve_pads(sizes, *window)
    places = output_dims(sizes, *window)
    reach: list[int] = []
    for d, size in enumerate(sizes):
        behind = after[d]
        if isinstance(size, int):
            last = (int(places[d]) - 1) * steps[d] + extent(kernel[d], taps[d]) - before[d]
            behind = last - size
        if not (isinstance(before[d], int) and isinstance(behind, int)):
            return (0,) * len(sizes)  # padding that depends on the size is tested for
        reach.append(max(before[d], behind, 0))
    return tuple(reach)
