"""Which concats, splits and slices need no launch: what they would copy lies in place at once.

The parts of a concat are written straight into it, and what is cut out of a value is read where it
lies, when the bytes of a part are neighbours in memory. That is so along the outermost axis that is
longer than 1: channels of a single image, in blocks too when whole blocks are joined or cut.
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
from compiler.ops.dims import normal_axis
from compiler.ops.slice import cuts_along, span
from compiler.runtime.frame import in_memory
from compiler.runtime.works.arrange import Needs, Overwritable, needed
from compiler.runtime.works.launch_order import works_in_order
from compiler.runtime.works.select import (
    Body,
    CutWork,
    JoinWork,
    NativeWork,
    RegionWork,
    Unlaunched,
    ViewWork,
    Work,
)


def sharing(graph: Graph, works: Sequence[Work], method: str = "given") -> list[Work]:
    """The works with concats, splits and slices as views where they can be such.

    The caller's arrays are never shared: what shows an input, or is a result, is copied. A value is
    part of one concat, and of that once; for others it is copied. A concat's memory is there from
    its first part on: where that would raise the most bytes alive, in the order by one of METHODS,
    those concats are copied that keep most of them for nothing. Bytes alive are compared, not
    planned arenas: plans are within a percent of them, and take much longer.
    """
    found = _Known(graph, works, ()).works()
    if not any(isinstance(w, JoinWork) for w in found):
        return found
    seen: dict[int, Overwritable] = {}
    ordered = works_in_order(works, needed(graph, works, seen), method)
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
        found = _Known(graph, works, copied).works()


@dataclass(frozen=True, slots=True)
class _Peak:
    """The most bytes alive in one launch, and the first launch where they are."""

    nbytes: int
    fullest: int


def _live(needs: Needs) -> _Peak:
    buffers = join_lifetimes(
        [*needs.steps, Step(reads=needs.late)], needs.sizes, needs.views
    ).buffers
    live = live_by_step(buffers) or [0]
    return _Peak(max(live), live.index(max(live)))


def _dearest(needs: Needs, number: int) -> str | None:
    """The concat that keeps most memory for what is not yet written at a launch."""
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
    """How many bytes of a value lie before a part of it; None when they are no stretch of it.

    The part begins at the element `begin` and has the layout of the whole: a halo around both is
    the same only where the part is as long as the whole, and blocks are filled.
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
    """The shape in memory of a static type."""
    sizes = t.layout.physical_shape(t.static_shape)
    return tuple(n for n in sizes if isinstance(n, int))


class _Known:
    """What decides about a graph's works, one after the other."""

    def __init__(self, graph: Graph, works: Sequence[Work], copied: Collection[str]) -> None:
        self.graph, self.given, self.copied = graph, works, copied
        self.shown = {w.node.output: w.source for w in works if isinstance(w, ViewWork)}
        self.cut: set[str] = set()
        self.parts: set[str] = set()
        """What lies in a concat already."""
        written = {o for w in works if not isinstance(w, Unlaunched) for o in w.node.outputs}
        self.inside = written - {"", *(self._below(r.value) for r in graph.results)}
        """What lies in the arena."""

    def _below(self, value: str) -> str:
        while value in self.shown:
            value = self.shown[value]
        return value

    def works(self) -> list[Work]:
        """The works, some of them as views."""
        return [self._shared(w) for w in self.given]

    def _shared(self, work: Work) -> Work:
        if isinstance(work, RegionWork):
            return self._inside(work)
        if not isinstance(work, NativeWork):
            return work
        node = work.node
        if node.op == "concat" and (parts := self._parts(node)):
            self.parts.update(self._below(p.value) for p in parts)
            return JoinWork(node, parts)
        if node.op in ("slice", "split") and (cuts := self._cuts(node)):
            self.cut.update(c for c in cuts)
            return CutWork(node, cuts)
        return work

    def _inside(self, work: RegionWork) -> RegionWork:
        """A node with regions, whose bodies share memory as well."""
        bodies = {
            key: Body(b.graph, b.captured, tuple(sharing(b.graph, b.works)))
            for key, b in work.bodies.items()
        }
        return RegionWork(work.node, bodies)

    def _type(self, value: str) -> TensorType:
        t = self.graph.types[value]
        assert isinstance(t, TensorType), f"{value} is {t}"
        return t

    def _parts(self, node: Node) -> tuple[Span, ...]:
        """Where each operand of a concat lies in it; none when it has to be copied."""
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
            # Kernels may store past the caches, whole lines at once.
            if start is None or start % ALIGNMENT_BYTES:
                return ()
            found.append(Span(value, start, t.nbytes))
        return tuple(found)

    def _cuts(self, node: Node) -> dict[str, Span]:
        """Which bytes of the operand each result is; none when they have to be copied."""
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
        """The element at which each result of a split or slice begins; none for large steps."""
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
            # Where it ends is in the size of the result.
            for at, cut in cuts_along(whole.rank, starts, np.zeros_like(starts), axes, steps):
                begin[at] = span(whole.static_shape[at], cut).start
            yield begin
