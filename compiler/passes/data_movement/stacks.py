"""Conversion of a concatenation of views into a view of a concatenation."""

from __future__ import annotations

from compiler.dataclass import dataclass
from compiler.ir.editor import Editor
from compiler.ir.graph import Node
from compiler.ir.operator import Operand, Tensor
from compiler.passes.data_movement.parts import is_plain
from compiler.passes.engine.rule import Skip
from compiler.passes.rules.calls import o
from compiler.passes.rules.views.shapes import reshaped


@dataclass(frozen=True, slots=True)
class _View:
    """A tensor with axes of size 1 inserted."""

    source: Tensor
    axes: tuple[int, ...]


def concat_of_views(ed: Editor, node: Node, axis: int) -> Operand | None:
    """Return the equivalent view of a concatenation, or None if the operands are not views."""
    views = [_view(ed, v, axis) for v in node.inputs]
    known = [v for v in views if v is not None]
    if len(known) < len(views) or len(views) < 2 or len({v.axes for v in known}) > 1:
        return None
    if sum(ed.n_uses(v) == 1 for v in dict.fromkeys(node.inputs)) < 2:
        return None
    axes, sources = known[0].axes, [v.source for v in known]
    if axis not in axes:
        inner = o.concat(*sources, axis=axis - sum(a < axis for a in axes))
        return o.unsqueeze(inner, axes=axes)
    if axes != (axis,) or axis >= sources[0].rank or len({s.shape for s in sources}) > 1:
        return None
    call = o.concat(*sources, axis=axis)
    made = reshaped(Tensor("", call.type), node.tensor)
    if isinstance(made, Skip) or not hasattr(made, "args"):
        return None
    return o.reshape(call, *made.args[1:], **made.attrs)


def _view(ed: Editor, value: str, axis: int) -> _View | None:
    """If a value is a view that inserts axes of size 1, return the viewed tensor and these axes."""
    node = ed.producer(value)
    if node is None or node.op not in ("unsqueeze", "reshape") or not is_plain(ed, node.inputs[0]):
        return None
    x, shape = ed.tensor(node.inputs[0]), ed.tensor(value).shape
    if node.op == "unsqueeze":
        return _View(x, tuple(sorted(a % len(shape) for a in node.attrs["axes"])))
    if shape[axis] == 1 and (*shape[:axis], *shape[axis + 1 :]) == x.shape:
        return _View(x, (axis,))
    return None
