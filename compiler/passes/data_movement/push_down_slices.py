"""Code motion of slices toward the inputs: earlier nodes do not compute the dropped elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from compiler.dataclass import dataclass
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node, merge_origins
from compiler.ir.operator import OPERATORS, Call, Operand
from compiler.ir.types import TensorType, Type, logical
from compiler.passes.data_movement.narrowing import Needs, adds_up, needs
from compiler.passes.data_movement.parts import all_plain
from compiler.passes.engine.cost import CORE, node_cost
from compiler.passes.engine.counts import counted_verb
from compiler.passes.engine.declaration import graph_pass
from compiler.passes.engine.rule import ROUNDINGS
from compiler.passes.rules.calls import o
from compiler.passes.rules.views.cuts import FAR, Cut, cuts, sliced
from compiler.passes.rules.views.shapes import numbers
from compiler.trace import Log

DEPTH = 24
"""Limit on the number of nodes through which a slice moves toward the inputs."""


@graph_pass(
    aliases=("shrink_early",),
    needs=["constants", "single uses"],
    gives=["parts"],
    example="""
    graph g(x: f32[5,6], w: f32[6,7], b: f32[7]) {
      const first: i64[] = literal(0)
      p: f32[5,7] = matmul(x, w)
      s: f32[5,7] = add(p, b)
      y: f32[7] = gather(s, first, axis=0)
      return y
    }
    =>
    graph g(x: f32[5,6], w: f32[6,7], b: f32[7]) {
      const y.x.starts: i64[1] = literal(0)
      const y.x.ends: i64[1] = literal(1)
      const y.x.axes: i64[1] = literal(0)
      y.x: f32[1,6] = slice(x, y.x.starts, y.x.ends, y.x.axes)
      y.x_2: f32[1,7] = matmul(y.x, w)
      y.x_3: f32[1,7] = add(y.x_2, b)
      y: f32[7] = squeeze(y.x_3, axes=[0])
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[5,6]) {
      const first: i64[] = literal(0)
      s: f32[5,6] = softmax(x, axis=0)
      y: f32[6] = gather(s, first, axis=0)
      return y
    }
    """,
)
def push_down_slices(graph: Graph, log: Log, *, inexact: bool = True) -> Graph:
    """Move slices toward the inputs, where fewer elements are computed.

    A model may read only the class token of the last layer, or the last step of a sequence. After
    the move, earlier nodes do not compute the dropped elements. A slice moves through nodes without
    other readers if the roofline model of a core predicts a gain. With `inexact=false` a slice does
    not move through sums, since sums of other sizes may round differently.
    """
    if not any(n.op in ("slice", "gather") for n in graph.nodes):
        return graph
    ed, n_done = Editor(graph), 0
    for old in graph.nodes:
        node = ed.producer(old.output)
        if node is None or node.op not in ("slice", "gather") or not all_plain(ed, node):
            continue
        n_done += _shrunk(ed, node, log, inexact)
    return ed.graph() if n_done else graph


def _shrunk(ed: Editor, node: Node, log: Log, inexact: bool) -> bool:
    """Move a slice toward the inputs if that saves time; return whether it moved."""
    found = _cut(ed, node)
    if found is None or not ed.n_uses(node.output):
        return False
    axis, cut, drops = found
    plan = _Plan(ed, cut, inexact)
    if not plan.add(node.inputs[0], axis, node, 0):
        return False
    before, after = plan.seconds(node)
    nodes = counted_verb(len(plan.nodes), "node", "computes", "compute")
    what = f"{nodes} only positions {cut.start} to {cut.end} of axis {axis}"
    times = f"an estimated {after * 1e6:.3g} us instead of {before * 1e6:.3g} us"
    if after >= before:
        log.declined("push_down_slices", node.output, f"{what}: {times}", [node])
        return False
    if not log.may("push_down_slices", node.output):
        return False
    ed.made.clear()
    hint = f"{node.output}.x"
    value = ed.build(plan.build(node.inputs[0], axis, hint), hint=hint)
    if drops:
        call = o.squeeze(ed.tensor(value), axes=(axis,))
        value = ed.build(call, hint=node.output, origins=node.origins)
    new = ed.producer(value)
    assert new is not None, f"{value} is the output of at least one node"
    if logical(new.type) != logical(node.type):
        because = f"{node.output} is {node.type}, but its replacement would be {new.type}"
        ed.remove_unused([value])
        log.declined("push_down_slices", node.output, because, [node])
        return False
    ed.rename(new, node)
    removed = ed.remove_unused(node.reads)
    error = ROUNDINGS if any(adds_up(n) for n, *_ in plan.nodes.values()) else 0.0
    log.applied(
        "push_down_slices", node.output, f"{what}: {times}", [node, *removed], ed.made, error
    )
    return True


def _cut(ed: Editor, node: Node) -> tuple[int, Cut, bool] | None:
    """Return the axis and positions that a node selects, and whether it drops the axis."""
    x = ed.tensor(node.inputs[0])
    if node.op == "gather":
        row = numbers(ed.tensor(node.inputs[1]))
        if row is None or len(row) != 1 or ed.tensor(node.inputs[1]).rank:
            return None
        end = row[0] + 1 if row[0] != -1 else FAR
        return node.attrs["axis"] % x.rank, Cut(row[0], end, 1), True
    lists = [ed.tensor(i) if i else None for i in (*node.inputs[1:], "", "")][:4]
    starts, ends, axes, steps = lists
    assert starts is not None
    assert ends is not None
    taken = cuts(x.rank, starts, ends, axes, steps)
    moved = [] if taken is None else [(a, c) for a, c in taken.items() if not c.is_all]
    return (*moved[0], False) if len(moved) == 1 else None


@dataclass(slots=True)
class _Plan:
    """The nodes through which a slice moves toward the inputs, and the values finally sliced."""

    ed: Editor
    cut: Cut
    inexact: bool
    nodes: dict[str, tuple[Node, Needs, int]] = field(default_factory=dict)
    """For each value: its node, the operands to slice, and the sliced axis."""
    leaves: dict[tuple[str, int], None] = field(default_factory=dict)
    made: dict[tuple[str, int], Operand] = field(default_factory=dict)

    def add(self, value: str, axis: int, reader: Node, depth: int) -> bool:
        """Plan the slice of a value; return False if the slice should stay after the reader."""
        node = self.ed.producer(value)
        inner = None
        if node is not None and self.ed.n_uses(value) == 1 and all_plain(self.ed, node):
            if depth < DEPTH and (self.inexact or not adds_up(node)):
                inner = needs(self.ed, node, axis)
        if node is None or inner is None:
            self.leaves[value, axis] = None
            return bool(self.nodes) and not self.joins(node, value, reader)
        self.nodes[value] = (node, inner, axis)
        return all(self.add(node.inputs[i], at, node, depth + 1) for i, at in inner.items())

    def joins(self, node: Node | None, value: str, reader: Node) -> bool:
        """Whether a slice would separate a node and a reader that could share a kernel."""
        if node is None or self.ed.n_uses(value) > 1 or node.op not in OPERATORS:
            return False
        if OPERATORS[reader.op].kind != "elementwise":
            return False
        return OPERATORS[node.op].kind in ("elementwise", "contraction", "reduction")

    def seconds(self, node: Node) -> tuple[float, float]:
        """Return the time of all nodes in seconds, before the change and after it."""
        before = self.time(node, node.types, {})
        after = sum(self.copying(v, a) for v, a in self.leaves)
        for inner, wanted, axis in self.nodes.values():
            before += self.time(inner, inner.types, {})
            after += self.time(inner, (self.part(inner.tensor, axis),), wanted)
        return before, after

    def time(self, node: Node, types: Sequence[Type], wanted: Needs) -> float:
        """Return the time of a node in seconds, with `wanted` operands sliced."""
        names = tuple(str(i) if v else "" for i, v in enumerate(node.inputs))
        read: dict[str, TensorType] = {}
        for i, v in enumerate(node.inputs):
            if v:
                t = self.ed.tensor(v).type.assumed
                read[names[i]] = self.part(t, wanted[i]) if i in wanted else t
        out = tuple(t.assumed if isinstance(t, TensorType) else t for t in types)
        cost = node_cost(Node(node.op, names, node.outputs, out, node.attrs), read.__getitem__)
        return 0.0 if cost is None else CORE.seconds(cost)

    def part(self, t: TensorType, axis: int) -> TensorType:
        """Return the type of a sliced tensor."""
        sizes = list(t.assumed.static_shape)
        sizes[axis] = len(self.cut.of(sizes[axis]))
        return TensorType(t.dtype, tuple(sizes))

    def copying(self, value: str, axis: int) -> float:
        """Return the time to slice a value in seconds; 0 for constants, sliced at compile time."""
        if value in self.ed.constants:
            return 0.0
        t = self.part(self.ed.tensor(value).type, axis)
        return 2 * t.nbytes / CORE.bytes_per_second + CORE.seconds_per_kernel

    def build(self, value: str, axis: int, hint: str) -> Operand:
        """Build the slice of a value from its sliced operands, once per value and axis."""
        if (value, axis) in self.made:
            return self.made[value, axis]
        if value not in self.nodes:
            call = sliced(self.ed.tensor(value), {axis: self.cut})
            origins = merge_origins()
        else:
            node, wanted, _ = self.nodes[value]
            operands = [
                None
                if not v
                else self.build(v, wanted[i], hint)
                if i in wanted
                else self.ed.tensor(v)
                for i, v in enumerate(node.inputs)
            ]
            call, origins = Call(OPERATORS[node.op], tuple(operands), node.attrs), node.origins
        name = self.ed.build(call, hint=hint, origins=origins)
        self.made[value, axis] = self.ed.tensor(name)
        return self.made[value, axis]
