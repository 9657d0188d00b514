"""Parts: values that equal a slice of another tensor along one axis."""

from __future__ import annotations

import numpy as np

from compiler.dataclass import dataclass
from compiler.ir.editor import Editor
from compiler.ir.graph import Node
from compiler.ir.operator import Operand, Tensor
from compiler.ir.types import TensorType
from compiler.passes.rules.calls import o
from compiler.passes.rules.views.cuts import cuts


@dataclass(frozen=True, slots=True)
class Part:
    """The positions `start` to `end` along one axis of a tensor, in order."""

    source: str
    axis: int
    start: int
    end: int

    def operand(self, ed: Editor) -> Operand:
        """Build a slice of these positions, or return the tensor itself if the slice covers it."""
        x = ed.tensor(self.source)
        if self.is_whole(x):
            return x
        lists = ([self.start], [self.end], [self.axis])
        return o.slice(x, *(np.array(n, np.int64) for n in lists))

    def is_whole(self, x: Tensor) -> bool:
        """Whether the slice covers the entire tensor."""
        return self.start == 0 and self.end == x.shape[self.axis]


def is_plain(ed: Editor, value: str) -> bool:
    """Whether a value is a tensor of known rank in row-major order."""
    t = ed.type(value)
    return isinstance(t, TensorType) and t.is_ranked and t.layout.is_plain


def all_plain(ed: Editor, node: Node) -> bool:
    """Whether all operands and results of a node are tensors of known rank in row-major order."""
    return all(is_plain(ed, v) for v in (*node.inputs, *node.outputs) if v)


def size_along(ed: Editor, value: str, axis: int) -> int | None:
    """Return the size of an axis, or None if it is open."""
    t = ed.type(value)
    assert isinstance(t, TensorType)
    size = t.dims[axis]
    return size if isinstance(size, int) else None


def taken_by(ed: Editor, value: str) -> Part | None:
    """If a split or slice computes the value, return it as a `Part` of the operand, else None."""
    node = ed.producer(value)
    if node is None or node.op not in ("split", "slice") or not all_plain(ed, node):
        return None
    x = ed.tensor(node.inputs[0])
    if node.op == "split":
        axis, sizes = node.attrs["axis"] % x.rank, node.attrs["sizes"]
        at = node.outputs.index(value)
        start = sum(sizes[:at])
        return Part(x.name, axis, start, start + sizes[at])
    return _sliced(ed, node, x)


def _sliced(ed: Editor, node: Node, x: Tensor) -> Part | None:
    lists = [ed.tensor(i) if i else None for i in (*node.inputs[1:], "", "")][:4]
    starts, ends, axes, steps = lists
    assert starts is not None
    assert ends is not None
    taken = cuts(x.rank, starts, ends, axes, steps)
    if taken is None:
        return None
    moved = {a: c for a, c in taken.items() if not c.is_all}
    if len(moved) != 1:
        return None
    ((axis, cut),) = moved.items()
    size = x.shape[axis]
    if not isinstance(size, int) or cut.step != 1:
        return None
    places = cut.of(size)
    return Part(x.name, axis, places.start, max(places.stop, places.start))


def resolved(ed: Editor, part: Part) -> Part:
    """Return an equal slice of the earliest tensor that holds these elements contiguously."""
    while True:
        inner = _behind(ed, part)
        if inner is None:
            return part
        part = inner


def _behind(ed: Editor, part: Part) -> Part | None:
    """Return the operand's slice from which the source's producer copies this part, or None."""
    node = ed.producer(part.source)
    if node is None or not all_plain(ed, node):
        return None
    if node.op == "concat":
        return _of_operand(ed, node, part)
    inner = taken_by(ed, part.source)
    if inner is None or inner.axis != part.axis:
        return None
    return Part(inner.source, part.axis, inner.start + part.start, inner.start + part.end)


def _of_operand(ed: Editor, node: Node, part: Part) -> Part | None:
    """Return a slice of a concatenation as a slice of one operand, or None if it spans several."""
    if node.attrs["axis"] % ed.tensor(node.output).rank != part.axis or part.start == part.end:
        return None
    begin = 0
    for value in node.inputs:
        size = size_along(ed, value, part.axis)
        if size is None:
            return None
        if begin <= part.start and part.end <= begin + size:
            return Part(value, part.axis, part.start - begin, part.end - begin)
        begin += size
    return None
