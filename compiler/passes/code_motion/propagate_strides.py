"""Motion of strides from 1x1 windows to their producers, which then skip unused elements."""

from __future__ import annotations

import math
from dataclasses import field, replace

from compiler.dataclass import dataclass
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node
from compiler.ir.operator import OPERATORS, Cost, with_trait
from compiler.ir.types import TensorType
from compiler.passes.engine.cost import CORE, cost_of
from compiler.passes.engine.declaration import graph_pass
from compiler.passes.engine.determinism import is_deterministic
from compiler.passes.engine.rule import ROUNDINGS
from compiler.passes.rules.calls import o
from compiler.trace import Log

WINDOWS = {"conv"} | with_trait("pooling")
"""Operators whose strides can be multiplied."""

RANDOM = with_trait("random")

Steps = tuple[int, ...]


@graph_pass(
    aliases=("subsample_early",),
    known_as={"OpenVINO": "ConvStridesPropagation"},
    needs=["constants"],
    example="""
    graph g(x: f32[1,2,5,7], w: f32[3,2,2,2], v: f32[4,3,1,1]) {
      h: f32[1,3,4,6] = conv(x, w, strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
      r: f32[1,3,4,6] = relu(h)
      y: f32[1,4,2,2] = conv(r, v, strides=[2,3], pads=[0,0,0,0], dilations=[1,1])
      return y
    }
    =>
    graph g(x: f32[1,2,5,7], w: f32[3,2,2,2], v: f32[4,3,1,1]) {
      h: f32[1,3,2,2] = conv(x, w, strides=[2,3], pads=[0,0,0,0], dilations=[1,1])
      r: f32[1,3,2,2] = relu(h)
      y: f32[1,4,2,2] = conv(r, v, strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[1,2,5,7], w: f32[3,2,2,2], v: f32[4,3,2,2]) {
      h: f32[1,3,4,6] = conv(x, w, strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
      r: f32[1,3,4,6] = relu(h)
      y: f32[1,4,2,2] = conv(r, v, strides=[2,3], pads=[0,0,0,0], dilations=[1,1])
      return y
    }
    """,
)
def propagate_strides(graph: Graph, log: Log) -> Graph:
    """Move strides of 1x1 convolutions to the nodes that compute their inputs.

    The strides move to the preceding convolution or pool, through elementwise operators and
    concatenations. If another reader needs all elements of an intermediate value, a slice selects
    every n-th element. The strides move only if the slices cost less than the change saves. Source:
    StridesOptimization of OpenVINO.
    """
    ed = Editor(graph)
    n_done = 0
    for node in reversed(graph.nodes):
        value = node.output
        if ed.producer(value) is None or not isinstance(node.type, TensorType):
            continue
        steps = _steps(ed, value)
        if steps is None:
            continue
        cone = _Cone(ed, value, steps)
        objection = cone.grow()
        if log.may("propagate_strides", value, objection, [node]):
            cone.apply(log)
            n_done += 1
    return ed.graph() if n_done else graph


def _steps(ed: Editor, value: str) -> Steps | None:
    """Return the step along each image axis that all readers of a value share, else None."""
    readers, t = ed.users(value), ed.type(value)
    if not readers or ed.is_result(value) or not isinstance(t, TensorType) or not t.is_static:
        return None
    if not t.dtype.is_float or not 3 <= t.rank <= 5 or not t.layout.is_plain:
        return None
    found = {_free_steps(ed, r, value) for r in readers}
    steps = next(iter(found))
    return steps if len(found) == 1 and any(n > 1 for n in steps) else None


def _free_steps(ed: Editor, reader: Node, value: str) -> Steps:
    """Return a window's stride on each axis with a window of size 1, and 1 on other axes."""
    if reader.op not in WINDOWS or reader.inputs.count(value) != 1 or reader.inputs[0] != value:
        return ()
    kernel = _kernel(ed, reader)
    if kernel is None or not _is_plain(reader):
        return ()
    n, pads = len(kernel), _pads(reader)
    alone = (kernel[d] == 1 and not pads[d] and not pads[n + d] for d in range(n))
    return tuple(s if free else 1 for s, free in zip(reader.attrs["strides"], alone, strict=True))


def _kernel(ed: Editor, node: Node) -> Steps | None:
    if node.op != "conv":
        return tuple(node.attrs["kernel"])
    w = ed.type(node.inputs[1])
    return w.static_shape[2:] if isinstance(w, TensorType) and w.is_static else None


def _is_plain(node: Node) -> bool:
    """Whether only strides and pads determine the positions of a window."""
    return node.attrs["auto_pad"] in ("notset", "valid") and not node.attrs.get("ceil_mode")


def _pads(node: Node) -> Steps:
    pads = tuple(node.attrs["pads"])
    return pads if node.attrs["auto_pad"] == "notset" else (0,) * len(pads)


def _is_moved(node: Node) -> bool:
    """Whether each element of the result depends only on operand elements at the same position."""
    operator = OPERATORS.get(node.op)
    if operator is None or len(node.outputs) != 1 or not is_deterministic(node):
        return False
    if node.op == "concat":
        return node.attrs["axis"] in (1, 1 - node.tensor.rank)
    return node.op == "identity" or (operator.kind == "elementwise" and node.op not in RANDOM)


@dataclass
class _Cone:
    """The producers that shrink together with a value, and operands that are sliced instead."""

    ed: Editor
    value: str
    steps: Steps
    moved: list[Node] = field(default_factory=list)
    windows: list[Node] = field(default_factory=list)
    picked: list[str] = field(default_factory=list)

    def grow(self) -> str:
        """Collect the nodes to shrink; return the reason against the change, or "" if none."""
        place = {n.output: i for i, n in enumerate(self.ed.nodes())}
        inside = {r.output for r in self.ed.users(self.value)}
        pending = {self.value}
        while pending:
            value = max(pending, key=lambda v: place.get(v, -1))
            pending.discard(value)
            node = self.ed.producer(value)
            wanted = None if node is None else self.wanted(node)
            alone = not self.ed.is_result(value) and all(
                u.output in inside for u in self.ed.users(value)
            )
            if node is None or wanted is None or not alone:
                self.picked.append(value)
                continue
            inside.add(node.output)
            (self.windows if node.op in WINDOWS else self.moved).append(node)
            pending.update(wanted)
        return self.objection()

    def wanted(self, node: Node) -> list[str] | None:
        """Return the operands that shrink with a node, or None if the node cannot shrink."""
        t = node.types[0]
        if not isinstance(t, TensorType) or not t.is_static or not t.layout.is_plain:
            return None
        if len(node.outputs) != 1:
            return None
        if node.op in WINDOWS:
            return [] if _is_plain(node) else None
        if not _is_moved(node):
            return None
        found: list[str] = []
        for name in filter(None, node.inputs):
            operand = self.ed.type(name)
            if not isinstance(operand, TensorType) or not operand.is_static:
                return None
            sizes, n = operand.static_shape, len(self.steps)
            if operand.rank == t.rank and sizes[2:] == t.static_shape[2:]:
                if name in self.ed.constants:
                    return None
                found.append(name)
            elif any(size != 1 for size in sizes[-n:]) and not self.is_parameter(node, name):
                return None
        return found

    def is_parameter(self, node: Node, name: str) -> bool:
        """Whether an operand lists scales or zero points per channel."""
        quantizes = node.op in ("quantize", "dequantize") and name in node.inputs[1:]
        return quantizes and node.attrs["axis"] == 1 and not node.attrs["block_size"]

    def objection(self) -> str:
        """Return the reason that the change is unprofitable, or "" if it is profitable."""
        if not self.windows:
            return f"no convolution or pool before {self.value} could compute fewer elements"
        before, after = self.costs()
        if before is None or after is None:
            return f"the sizes of the nodes before {self.value} are not all known"
        won = CORE.seconds(before, 0) - CORE.seconds(after, 0)
        n = len(self.picked)
        if n and won <= (paid := sum(self.price(v) for v in self.picked)):
            return (
                f"slicing {', '.join(self.picked)} takes {paid * 1e6:.1f} us and saves only "
                f"{won * 1e6:.1f} us"
            )
        return ""

    def costs(self) -> tuple[Cost | None, Cost | None]:
        """Return the total costs of the convolutions and pools before and after the change."""
        smaller = [self.smaller(n) for n in self.windows]
        return cost_of(self.windows, self.ed.type), cost_of(smaller, self.ed.type)

    def price(self, value: str) -> float:
        """Return the time in seconds to slice a value."""
        t = self.ed.type(value)
        assert isinstance(t, TensorType)
        kept = t.nbytes // math.prod(self.steps)
        return CORE.seconds(Cost(0, kept, kept))

    def smaller(self, node: Node) -> Node:
        """Return the node with a smaller result; a convolution or pool gets larger strides."""
        t = node.tensor
        sizes = tuple(-(-n // s) for n, s in zip(t.static_shape[2:], self.steps, strict=True))
        made = replace(node, types=(TensorType(t.dtype, (*t.static_shape[:2], *sizes)),))
        if node.op not in WINDOWS:
            return made
        strides = tuple(a * b for a, b in zip(node.attrs["strides"], self.steps, strict=True))
        return replace(made, attrs={**node.attrs, "strides": strides})

    def apply(self, log: Log) -> None:
        """Replace the changed nodes in the graph, and slice the operands that cannot shrink."""
        ed, ones = self.ed, (1,) * len(self.steps)
        before, after = self.costs()
        readers = ed.users(self.value)
        ed.made.clear()
        names: dict[str, str] = {}
        for value in self.picked:
            origins = sorted({o for n in self.moved if value in n.inputs for o in n.origins})
            pool = o.max_pool(
                ed.tensor(value),
                kernel=ones,
                strides=self.steps,
                pads=(0,) * (2 * len(ones)),
                dilations=ones,
            )
            names[value] = ed.build(pool, hint=f"{value}.picked", origins=tuple(origins))
        for node in reversed(self.moved):
            ed.update(node, self.smaller(node).with_inputs(names))
        for node in self.windows:
            ed.update(node, self.smaller(node))
        for node in readers:
            strides = tuple(a // b for a, b in zip(node.attrs["strides"], self.steps, strict=True))
            ed.update(node, replace(node, attrs={**node.attrs, "strides": strides}))
        changed = [*reversed(self.moved), *self.windows, *readers]
        log.applied(
            "propagate_strides",
            self.value,
            self.reason(before, after),
            changed,
            [*changed, *ed.made],
            error=ROUNDINGS,
            cost_before=before,
            cost_after=after,
        )

    def reason(self, before: Cost | None, after: Cost | None) -> str:
        """Return the reason for the ledger, with the operations saved."""
        names = ", ".join(n.output for n in self.windows)
        text = f"{names} {'take' if len(self.windows) > 1 else 'takes'} strides of {self.steps}"
        if before is not None and after is not None:
            text += f": saves {before.flops - after.flops:,} operations"
        if self.picked:
            text += f"; slices shorten {', '.join(self.picked)}"
        return text
