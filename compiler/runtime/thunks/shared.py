"""Concats, splits and slices without copies: their values share memory.

Contiguous parts of a concat are written directly into its result; contiguous cuts of a value are
read in place. Parts and cuts are contiguous along the outermost axis longer than 1, for instance
the channels of a single image. In blocked layouts, parts and cuts must consist of entire blocks.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate

import numpy as np

from compiler.dataclass import dataclass
from compiler.ir.graph import Graph, Node
from compiler.ir.types import TensorType
from compiler.memory.account import live_by_step
from compiler.memory.buffer import ALIGNMENT_BYTES
from compiler.memory.lifetimes import Step, join_lifetimes
from compiler.memory.views import Span
from compiler.ops.data_movement.slice import cuts_along, span
from compiler.ops.type_rules.dims import normal_axis
from compiler.runtime.frame import in_memory
from compiler.runtime.thunks.arrange import Needs, Overwritable, needed
from compiler.runtime.thunks.launch_order import thunks_in_order
from compiler.runtime.thunks.select import (
    Body,
    CutThunk,
    JoinThunk,
    NativeThunk,
    RegionThunk,
    Thunk,
    Unlaunched,
    ViewThunk,
)


def sharing(graph: Graph, thunks: Sequence[Thunk], method: str = "given") -> list[Thunk]:
    """Replace concats, splits and slices by views where possible.

    The caller's arrays are never shared: views of inputs are copied, and so are results. A value
    can be a part of a single concat, and only once; all other concats copy the value. A concat's
    memory is live from the write of the first part. `method` names the method of launch ordering.
    If shared memory raises the peak of live bytes in this order, some concats are copied. Concats
    with the most unused memory at the peak are copied first. Live bytes are compared instead of
    planned arenas: planning takes much longer, and arenas exceed live bytes by one percent at most.
    """
    found = _Known(graph, thunks, ()).thunks()
    if not any(isinstance(w, JoinThunk) for w in found):
        return found
    seen: dict[int, Overwritable] = {}
    ordered = thunks_in_order(thunks, needed(graph, thunks, seen), method)
    most = _live(needed(graph, ordered, seen)).nbytes
    copied: set[str] = set()
    while True:
        made = {w.node.output: w for w in found}
        needs = needed(graph, [made[w.node.output] for w in ordered], seen)
        peak = _live(needs)
        dear = _dearest(needs, peak.fullest) if peak.nbytes > most else None
        if dear is None:
            return found
        copied.add(dear)
        found = _Known(graph, thunks, copied).thunks()


@dataclass(frozen=True, slots=True)
class _Peak:
    """The peak of live bytes, and the number of the first launch at this peak."""

    nbytes: int
    fullest: int


def _live(needs: Needs) -> _Peak:
    buffers = join_lifetimes(
        [*needs.steps, Step(reads=needs.late)], needs.sizes, needs.views
    ).buffers
    live = live_by_step(buffers) or [0]
    return _Peak(max(live), live.index(max(live)))


def _dearest(needs: Needs, number: int) -> str | None:
    """Return the concat with the most memory reserved for parts not yet written at a launch."""
    views, steps = needs.views, needs.steps
    written = {w for step in steps[: number + 1] for w in step.writes}
    later = {r for step in steps[number:] for r in step.reads} | {*needs.late}
    kept: dict[str, int] = {}
    for whole, parts in views.joined.items():
        alive = {whole, *(p.value for p in parts)} & later
        there = [p.size for p in parts if not written.isdisjoint(views.roots(p.value))]
        if alive and there:
            kept[whole] = sum(p.size for p in parts) - sum(there)
    return max(kept, key=lambda whole: kept[whole], default=None)


def bytes_before(part: TensorType, whole: TensorType, begin: Sequence[int]) -> int | None:
    """Return the byte offset of a contiguous part of a value; None for other parts.

    The part begins at the element `begin` and must have the layout of the value. The part must span
    each axis with a halo, and must consist of full blocks.
    """
    if not (in_memory(part) and in_memory(whole) and part.nbytes):
        return None
    layout = whole.layout
    if part.dtype is not whole.dtype or part.layout != layout:
        return None
    if layout.block > 1 and (begin[1] % layout.block or part.static_shape[1] % layout.block):
        return None
    haloed = range(2, len(begin)) if layout.halo else ()
    if any(part.static_shape[a] != whole.static_shape[a] for a in haloed):
        return None
    sizes = physical_sizes(part)
    around = physical_sizes(whole)
    outer = next((a for a, n in enumerate(sizes) if n != 1), len(sizes))
    if sizes[outer + 1 :] != around[outer + 1 :]:
        return None
    at = [*begin, *[0] * (len(sizes) - len(begin))]
    if layout.block > 1:
        at[1] //= layout.block
    strides = [math.prod(around[a + 1 :]) for a in range(len(around))]
    return whole.dtype.nbytes * sum(i * s for i, s in zip(at, strides, strict=True))


def physical_sizes(t: TensorType) -> tuple[int, ...]:
    """Return the shape in memory of a static type."""
    sizes = t.layout.physical_shape(t.static_shape)
    return tuple(n for n in sizes if isinstance(n, int))


class _Known:
    """The sharing decisions for a graph's thunks, one after another."""

    def __init__(self, graph: Graph, thunks: Sequence[Thunk], copied: Collection[str]) -> None:
        self.graph, self.given, self.copied = graph, thunks, copied
        self.shown = {w.node.output: w.source for w in thunks if isinstance(w, ViewThunk)}
        self.cut: set[str] = set()
        self.parts: set[str] = set()
        """Values that are already parts of a concat."""
        written = {o for w in thunks if not isinstance(w, Unlaunched) for o in w.node.outputs}
        self.inside = written - {"", *(self._below(r.value) for r in graph.results)}
        """Values in the arena."""

    def _below(self, value: str) -> str:
        while value in self.shown:
            value = self.shown[value]
        return value

    def thunks(self) -> list[Thunk]:
        """Return the implementations, with views for shared memory."""
        return [self._shared(w) for w in self.given]

    def _shared(self, thunk: Thunk) -> Thunk:
        if isinstance(thunk, RegionThunk):
            return self._inside(thunk)
        if not isinstance(thunk, NativeThunk):
            return thunk
        node = thunk.node
        if node.op == "concat" and (parts := self._parts(node)):
            self.parts.update(self._below(p.value) for p in parts)
            return JoinThunk(node, parts)
        if node.op in ("slice", "split") and (cuts := self._cuts(node)):
            self.cut.update(c for c in cuts)
            return CutThunk(node, cuts)
        return thunk

    def _inside(self, thunk: RegionThunk) -> RegionThunk:
        """Return the implementation of a node with regions; values in its bodies share memory."""
        bodies = {
            key: Body(b.graph, b.captured, tuple(sharing(b.graph, b.thunks)))
            for key, b in thunk.bodies.items()
        }
        return RegionThunk(thunk.node, bodies)

    def _type(self, value: str) -> TensorType:
        t = self.graph.types[value]
        assert isinstance(t, TensorType), f"{value} is {t}"
        return t

    def _parts(self, node: Node) -> tuple[Span, ...]:
        """Return the place of each operand in a concat; () if operands must be copied."""
        axis = normal_axis(node.attrs["axis"], self._type(node.output).rank)
        own = [self._below(i) for i in node.inputs]
        if node.output not in self.inside.difference(self.copied) or len(set(own)) < len(own):
            return ()
        if any(r not in self.inside or r in self.parts or r in self.cut for r in own):
            return ()
        types = [self._type(i) for i in node.inputs]
        ends = accumulate(t.static_shape[axis] for t in types)
        found: list[Span] = []
        for value, t, end in zip(node.inputs, types, ends, strict=True):
            begin = [0] * t.rank
            begin[axis] = end - t.static_shape[axis]
            start = bytes_before(t, self._type(node.output), begin)
            # Parts must be aligned: kernels may use non-temporal stores of entire cache lines.
            if start is None or start % ALIGNMENT_BYTES:
                return ()
            found.append(Span(value, start, t.nbytes))
        return tuple(found)

    def _cuts(self, node: Node) -> dict[str, Span]:
        """Return each result's byte range of the operand; {} if results must be copied."""
        source = node.inputs[0]
        whole = self._type(source)
        outputs = [o for o in node.outputs if o]
        if self._below(source) not in self.inside | self.cut or not self.inside.issuperset(outputs):
            return {}
        begins = list(self._begins(node, whole))
        found: dict[str, Span] = {}
        for value, t, begin in zip(node.outputs, node.types, begins, strict=False):
            assert isinstance(t, TensorType), f"{value} is {t}"
            start = bytes_before(t, whole, begin)
            if start is None:
                return {}
            if value:
                found[value] = Span(source, start, t.nbytes)
        return found

    def _begins(self, node: Node, whole: TensorType) -> Iterator[list[int]]:
        """Yield the first element of each result of a split, or of a slice with steps of 1."""
        begin = [0] * whole.rank
        if node.op == "split":
            axis = normal_axis(node.attrs["axis"], whole.rank)
            for size in node.attrs["sizes"]:
                yield list(begin)
                begin[axis] += size
            return
        start, _, axis, step = [*node.inputs[1:], "", ""][:4]
        constants = self.graph.constants
        if not constants.keys() >= {start, axis, step} - {""}:
            return
        starts = constants[start].array()
        axes, steps = (constants[i].array() if i else None for i in (axis, step))
        if steps is None or (steps == 1).all():
            # The end follows from the result's size.
            for at, cut in cuts_along(whole.rank, starts, np.zeros_like(starts), axes, steps):
                begin[at] = span(whole.static_shape[at], cut).start
            yield begin
