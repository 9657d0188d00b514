"""Hoisting of zero points out of sums of products of bytes."""

from __future__ import annotations

from functools import reduce

import numpy as np

from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node
from compiler.ir.operator import Array, Call, Operand
from compiler.ir.types import DType
from compiler.ops.convolution.window import resolve_pads
from compiler.passes.engine.cost import cost_of
from compiler.passes.engine.declaration import graph_pass
from compiler.passes.quantization.codes import HIGH, LOW, as_bytes, objection_to_groups, operand
from compiler.passes.rules.calls import o
from compiler.trace import Log

RULE = "hoist_zero_points"

MIDDLE = 128
"""The difference between the u8 and the i8 representation of a number."""


@graph_pass(
    aliases=("lift_zero_points",),
    for_code=True,
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
    near_miss="""
    graph g(x: u8[2,3]) {
      const w: i8[3,4] = splat(7)
      y: i32[2,4] = matmul_integer(x, w)
      return y
    }
    """,
)
def hoist_zero_points(graph: Graph, log: Log) -> Graph:
    """Multiply quantized integers without zero points, and then correct the sums.

    Let x and w be quantized integers, z and v zero points. For constant weights, the sum of
    (x - z) * (w - v) is A - z * B. Here, A is the sum of x * (w - v), and B is the sum of w - v. If
    w - v exceeds i8, w itself is stored as i8, and the correction adds the remaining zero point
    times the sum of x. The result is exact, or overflows exactly as the original sum does. Source:
    Jacob et al. 2018 (arXiv:1712.05877), section 2.3; gemmlowp's low-precision.md.
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
    because = (
        "the product multiplies bytes without zero points, and sums over the weights are constants"
    )
    new = [*ed.made, *ed.made_constants]
    after = cost_of(ed.made, ed.type)
    log.applied(RULE, node.output, because, [node], new, 0.0, "", before, after)
    return True


def _weights(ed: Editor, node: Node) -> tuple[Array, Array] | str:
    """Return constant weights and their zero points as integers, or the reason for rejection."""
    w = ed.constant(node.inputs[1])
    name = operand(node, 3)
    zero = ed.constant(name) if name else None
    if w is None:
        return f"the weights {node.inputs[1]} are not constant"
    if name and zero is None:
        return f"the zero points {name} of the weights are not constant"
    origin = np.zeros((), np.int32) if zero is None else zero.array().astype(np.int32)
    return w.array().astype(np.int32), origin


def _zero_of_image(ed: Editor, node: Node) -> Array | str | None:
    """Return the zero point of the image: a constant, a value's name, or None for several."""
    name = operand(node, 2)
    if not name:
        return np.zeros((), np.int32)
    known = ed.constant(name)
    if known is not None:
        found = known.array().astype(np.int32)
        return found.reshape(()) if found.size == 1 else None
    t = ed.tensor(name).type
    return name if t.is_static and t.n_elements == 1 and t.rank <= 1 else None


def _stored(w: Array, origin: Array) -> tuple[Array, Array]:
    """Return i8 weights and an offset, whose sum is the weights minus their zero points.

    If all weights minus their zero points fit into i8, these differences are the result, with an
    offset of 0. Otherwise the result is the weights, shifted by 128 if a weight exceeds i8. The
    offset is then the shift minus the zero points.
    """
    less = as_bytes(w - origin)
    if less is not None:
        return less, np.zeros((), np.int32)
    moved = 0 if as_bytes(w) is not None else MIDDLE
    stored = as_bytes(w - moved)
    assert stored is not None, "weights are bytes"
    return stored, (moved - origin).astype(np.int32)


def _parts(w: Array) -> list[Array]:
    """Split weights into i8 terms that sum to them: two terms, or three for a weight of 255."""
    parts = list[Array]()
    while w.any():
        parts.append(w.clip(LOW, HIGH).astype(np.int8))
        w = w - parts[-1]
    return parts


def _convolution(ed: Editor, node: Node) -> Call | str:
    found = _weights(ed, node)
    if isinstance(found, str):
        return found
    w, origin = found
    origin = origin.reshape(-1, *[1] * (w.ndim - 1))
    zero, groups = _zero_of_image(ed, node), int(node.attrs["groups"])
    objection = objection_to_groups(groups, *w.shape[:2])
    if zero is None:
        return "the image has several zero points"
    if objection:
        return objection
    stored, off = _stored(w, origin)
    behind = (-1, *[1] * (w.ndim - 2))
    taps = (w - origin).sum(axis=tuple(range(1, w.ndim)), dtype=np.int64).astype(np.int32)
    taps = taps.reshape(behind)
    if not isinstance(zero, str) and not off.any():
        sums = o.conv_codes(ed.tensor(node.inputs[0]), stored, around=int(zero), **node.attrs)
        return o.add(sums, -zero * taps) if zero.any() else sums
    x = _with_borders(ed, node, zero, w.shape[2:])
    if isinstance(x, str):
        return x
    window = {**node.attrs, "pads": (0,) * (2 * (w.ndim - 2)), "auto_pad": "notset"}
    sums = o.conv_codes(x, stored, **window)
    if off.any() and groups == 1:
        steps = {k: node.attrs[k] for k in ("strides", "dilations")}
        under = o.window_sums(x, kernel=w.shape[2:], **steps)
        sums = o.add(sums, o.mul(under, off.reshape(behind) if off.size > 1 else off.reshape(())))
    elif off.any():
        sums = reduce(o.add, (o.conv_codes(x, part, **window) for part in _parts(w - origin)))
    if isinstance(zero, str):
        return o.sub(sums, o.mul(_number(ed, zero), taps))
    return o.add(sums, -zero * taps) if zero.any() else sums


def _with_borders(
    ed: Editor, node: Node, zero: Array | str, kernel: tuple[int, ...]
) -> Operand | str:
    """Pad the image with its zero point as far as windows extend beyond the borders."""
    x, at = ed.tensor(node.inputs[0]), node.attrs
    if x.type.shape is None:
        return "the rank of the image is open"
    begin, end = resolve_pads(
        x.shape[2:], kernel, at["strides"], at["pads"], at["dilations"], at["auto_pad"]
    )
    if not all(isinstance(n, int) for n in (*begin, *end)):
        return "the extent of windows beyond the borders is known only at run time"
    if not any((*begin, *end)):
        return x
    widths = np.array([0, 0, *begin, 0, 0, *end], np.int64)
    around = ed.tensor(zero) if isinstance(zero, str) else zero.astype(x.dtype.numpy)
    return o.pad(x, widths, around).out(0)


def _product(ed: Editor, node: Node) -> Call | str:
    found = _weights(ed, node)
    if isinstance(found, str):
        return found
    w, origin = found
    if w.ndim != 2 or origin.ndim > 1:
        return f"weights with {w.ndim} axes are not a matrix"
    zero, x = _zero_of_image(ed, node), ed.tensor(node.inputs[0])
    if zero is None:
        return "each row of the first operand has a separate zero point"
    if x.type.shape is None or x.rank < 2:
        return "the first operand is not a matrix"
    stored, off = _stored(w, origin)
    columns = (w - origin).sum(axis=0, dtype=np.int64).astype(np.int32)
    total: Call = o.matmul_integer(x, stored)
    if off.any():
        rows = o.reduce_sum(o.cast(x, to=DType.i32), axes=(-1 % x.rank,), keepdims=True)
        total = o.add(total, o.mul(rows, off))
    if isinstance(zero, str):
        return o.sub(total, o.mul(_number(ed, zero), columns))
    return o.add(total, -zero * columns) if zero.any() else total


def _number(ed: Editor, name: str) -> Operand:
    """Return a zero point as an i32 number."""
    t = ed.tensor(name)
    single = t if t.rank == 0 else o.reshape(t, np.zeros(0, np.int64))
    return o.cast(single, to=DType.i32)
