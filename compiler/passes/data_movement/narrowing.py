"""Slice propagation: slicing operands of a node instead of its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from compiler.ir.editor import Editor
from compiler.ir.graph import Node
from compiler.ir.operator import OPERATORS, with_trait
from compiler.ir.types import Dim, TensorType
from compiler.passes.data_movement.orders import POSITIONAL

Needs = Mapping[int, int]
"""For each operand to slice, by its number: the axis of the slice."""


def needs(ed: Editor, node: Node, axis: int) -> Needs | None:
    """Return the operands to slice instead of the result; None if the results would differ."""
    operator = OPERATORS.get(node.op)
    if operator is None or node.regions or len(node.outputs) != 1:
        return None
    if operator.kind == "elementwise":
        return _elementwise(ed, node, axis)
    how = _HOW.get(node.op)
    return None if how is None else how(ed, node, axis)


def adds_up(node: Node) -> bool:
    """Whether a node computes sums, whose rounding may change if the node computes fewer sums."""
    operator = OPERATORS.get(node.op)
    if operator is None or operator.exact:
        return False
    return operator.kind in ("contraction", "reduction")


def _dims(ed: Editor, value: str) -> tuple[Dim, ...]:
    t = ed.type(value)
    return t.shape or () if isinstance(t, TensorType) else ()


def _elementwise(ed: Editor, node: Node, axis: int) -> Needs | None:
    if node.op in POSITIONAL or "axis" in node.attrs:
        return None
    rank, size = len(node.tensor.dims), node.tensor.dims[axis]
    found: dict[int, int] = {}
    for i, value in enumerate(node.inputs):
        dims = _dims(ed, value) if value else ()
        at = axis - (rank - len(dims))
        if at < 0 or dims[at] == 1:
            continue
        if dims[at] != size:
            return None
        found[i] = at
    return found or None


def _matmul(ed: Editor, node: Node, axis: int) -> Needs | None:
    a, b = (_dims(ed, v) for v in node.inputs)
    rank = len(node.tensor.dims)
    if len(a) < 2 or len(b) < 2:
        return None
    if axis == rank - 2:
        return {0: len(a) - (1 if node.attrs["transpose_a"] else 2)}
    if axis == rank - 1:
        return {1: len(b) - (2 if node.attrs["transpose_b"] else 1)}
    found: dict[int, int] = {}
    for i, dims in enumerate((a, b)):
        at = axis - (rank - len(dims))
        if at >= 0 and dims[at] != 1:
            if dims[at] != node.tensor.dims[axis]:
                return None
            found[i] = at
    return found or None


def _normalised(ed: Editor, node: Node, axis: int) -> Needs | None:
    """Return the needs of a normalisation, which can be sliced only along its leading axes."""
    rank = len(node.tensor.dims)
    for value in filter(None, node.inputs[1:]):
        dims = _dims(ed, value)
        at = axis - (rank - len(dims))
        if at >= 0 and dims[at] != 1:
            return None
    return {0: axis} if axis < node.attrs["axis"] % rank else None


def _along(ed: Editor, node: Node, axis: int) -> Needs | None:
    return {0: axis} if axis != node.attrs["axis"] % len(node.tensor.dims) else None


def _reduction(ed: Editor, node: Node, axis: int) -> Needs | None:
    axes = node.attrs["axes"]
    if node.attrs["keepdims"]:
        return None if axis in axes else {0: axis}
    left = [a for a in range(len(_dims(ed, node.inputs[0]))) if a not in axes]
    return {0: left[axis]}


def _transpose(ed: Editor, node: Node, axis: int) -> Needs | None:
    return {0: node.attrs["perm"][axis]}


def _concat(ed: Editor, node: Node, axis: int) -> Needs | None:
    if axis == node.attrs["axis"] % len(node.tensor.dims):
        return None
    return dict.fromkeys(range(len(node.inputs)), axis)


def _squeeze(ed: Editor, node: Node, axis: int) -> Needs | None:
    rank = len(_dims(ed, node.inputs[0]))
    gone = {a % rank for a in node.attrs["axes"]}
    return {0: [a for a in range(rank) if a not in gone][axis]}


def _unsqueeze(ed: Editor, node: Node, axis: int) -> Needs | None:
    rank = len(node.tensor.dims)
    new = {a % rank for a in node.attrs["axes"]}
    return None if axis in new else {0: axis - sum(a < axis for a in new)}


_HOW: dict[str, Callable[[Editor, Node, int], Needs | None]] = {
    **dict.fromkeys(with_trait("axis_reduction"), _reduction),
    **dict.fromkeys(("softmax", "log_softmax"), _along),
    "layer_norm": _normalised,
    "matmul": _matmul,
    "transpose": _transpose,
    "concat": _concat,
    "squeeze": _squeeze,
    "unsqueeze": _unsqueeze,
}
