"""Zero points taken out of sums of products of bytes."""

from __future__ import annotations

import numpy as np

from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node
from compiler.ir.operator import Array, Call, Operand
from compiler.ir.types import DType
from compiler.passes.engine.cost import cost_of
from compiler.passes.engine.declaration import graph_pass
from compiler.passes.quantization.codes import as_bytes, objection_to_groups, operand
from compiler.passes.rules.calls import o
from compiler.trace import Log

RULE = "lift_zero_points"

MIDDLE = 128


@graph_pass(
    needs=["constants"],
    example="""
    graph g(x: u8[2,3], z: u8[]) {
      const w: i8[3,4] = splat(7)
      y: i32[2,4] = matmul_integer(x, w, z)
      return y
    }
    =>
    graph g(x: u8[2,3], z: u8[]) {
      const y.a.b: i8[3,4] = literal(7,7,7,7,7,7,7,7,7,7,7,7) <- y
      const y.b.b: i32[4] = literal(21,21,21,21) <- y
      y.a: i32[2,4] = matmul_integer(x, y.a.b) <- y
      y.b.a: i32[] = cast(z, to=i32) <- y
      y.b: i32[4] = mul(y.b.a, y.b.b) <- y
      y: i32[2,4] = sub(y.a, y.b)
      return y
    }
    """,
)
def lift_zero_points(graph: Graph, log: Log) -> Graph:
    """Multiply bytes as they are, and subtract what their zero points amount to from the sums.

    The sum of (x - z) * (w - v) over constant weights is the sum of x * (w - v) less z times the
    sum of w - v. Where w - v is no byte, the weights become signed, and the sums of x are added as
    often as their zero point is off. All of it is exact, or wraps as the sums do.
    Source: Jacob et al. 2018 (arXiv:1712.05877), section 2.3; gemmlowp's low-precision.md.
    """
    ed, n_done = Editor(graph), 0
    for node in graph.nodes:
        if node.op == "matmul_integer" and _has_zeros(ed, node):
            n_done += _change(ed, log, node)
        elif node.op == "conv_integer":
            n_done += _change(ed, log, node)
    return ed.graph() if n_done else graph


def _has_zeros(ed: Editor, node: Node) -> bool:
    w = ed.tensor(operand(node, 1))
    return any(node.inputs[2:]) or (w.dtype is DType.u8 and ed.constant(w.name) is not None)


def _change(ed: Editor, log: Log, node: Node) -> bool:
    call = _convolution(ed, node) if node.op == "conv_integer" else _product(ed, node)
    if isinstance(call, str):
        log.declined(RULE, node.output, call, [node])
        return False
    if not log.may(RULE, node.output):
        return False
    before = cost_of([node], ed.type)
    ed.made.clear()
    ed.made_constants.clear()
    made = ed.producer(ed.build(call, hint=node.output, origins=node.origins))
    assert made is not None
    ed.rename(made, node)
    because = "bytes are multiplied as they are; sums over the weights are known beforehand"
    new = [*ed.made, *ed.made_constants]
    after = cost_of(ed.made, ed.type)
    log.applied(RULE, node.output, because, [node], new, 0.0, "", before, after)
    return True


def _weights(ed: Editor, node: Node) -> tuple[Array, Array] | str:
    """Constant weights as whole numbers, and their zero points."""
    w = ed.constant(node.inputs[1])
    name = operand(node, 3)
    zero = ed.constant(name) if name else None
    if w is None:
        return f"the weights {node.inputs[1]} are no constant"
    if name and zero is None:
        return f"the zero points {name} of the weights are not known beforehand"
    origin = np.zeros((), np.int32) if zero is None else zero.array().astype(np.int32)
    return w.array().astype(np.int32), origin


def _zero_of_image(ed: Editor, node: Node) -> Array | str | None:
    """The zero point of the other operand: known, the name of a computed one, or none."""
    name = operand(node, 2)
    if not name:
        return np.zeros((), np.int32)
    known = ed.constant(name)
    if known is not None:
        found = known.array().astype(np.int32)
        return found.reshape(()) if found.size == 1 else None
    t = ed.tensor(name).type
    return name if t.is_static and t.n_elements == 1 and t.rank <= 1 else None


def _convolution(ed: Editor, node: Node) -> Call | str:
    found = _weights(ed, node)
    if isinstance(found, str):
        return found
    w, origin = found
    behind = (-1, *[1] * (w.ndim - 2))
    w = w - origin.reshape(-1, *[1] * (w.ndim - 1))
    stored, zero = as_bytes(w), _zero_of_image(ed, node)
    objection = objection_to_groups(int(node.attrs["groups"]), *w.shape[:2])
    if stored is None:
        return f"the weights less their zero points reach from {w.min()} to {w.max()}"
    if zero is None:
        return "the image has several zero points"
    if objection:
        return objection
    taps = w.sum(axis=tuple(range(1, w.ndim)), dtype=np.int64).astype(np.int32).reshape(behind)
    x = ed.tensor(node.inputs[0])
    if isinstance(zero, str):
        if any(node.attrs["pads"]) or node.attrs["auto_pad"] not in ("notset", "valid"):
            return "what lies around the image is known only when it runs"
        sums = o.conv_codes(x, stored, **node.attrs)
        return o.sub(sums, o.mul(_number(ed, zero), taps))
    around = int(zero)
    sums = o.conv_codes(x, stored, around=around, **node.attrs)
    return o.add(sums, -around * taps) if around else sums


def _product(ed: Editor, node: Node) -> Call | str:
    found = _weights(ed, node)
    if isinstance(found, str):
        return found
    w, origin = found
    if w.ndim != 2 or origin.ndim > 1:
        return f"weights with {w.ndim} axes are no matrix"
    zero, x = _zero_of_image(ed, node), ed.tensor(node.inputs[0])
    if zero is None:
        return "each row has a zero point of its own"
    if x.type.shape is None or x.rank < 2:
        return "the rows are no matrix"
    less = w - origin
    stored, off = as_bytes(less), np.zeros((), np.int32)
    if stored is None:
        stored, off = as_bytes(w - MIDDLE), MIDDLE - origin
    if stored is None:
        return f"the weights reach from {w.min()} to {w.max()}"
    columns = less.sum(axis=0, dtype=np.int64).astype(np.int32)
    total: Call = o.matmul_integer(x, stored)
    if off.any():
        rows = o.reduce_sum(o.cast(x, to=DType.i32), axes=(-1 % x.rank,), keepdims=True)
        total = o.add(total, o.mul(rows, off))
    if isinstance(zero, str):
        return o.sub(total, o.mul(_number(ed, zero), columns))
    return o.add(total, -zero * columns) if zero.any() else total


def _number(ed: Editor, name: str) -> Operand:
    """One zero point as a number in i32."""
    t = ed.tensor(name)
    single = t if t.rank == 0 else o.reshape(t, np.zeros(0, np.int64))
    return o.cast(single, to=DType.i32)
