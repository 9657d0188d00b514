"""Running sums and products along an axis."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering, RoutineBuilder
from compiler.compute.scalar import Read, Scalar
from compiler.errors import require
from compiler.ir.affine import Expr
from compiler.ir.operator import Array, Call, Cost, OnnxCall, Operator, Tensor, op
from compiler.ir.types import TensorType
from compiler.ops.elementwise.table import describe_row
from compiler.ops.type_rules.dims import known_value
from compiler.ops.type_rules.requirements import (
    normal_axis,
    require_elements,
    rounded,
    traffic,
    wide,
    widened,
)

Combine = Callable[[Scalar, Scalar], Scalar]


def _scan(
    name: str, words: str, *, numpy: Any, combine: Combine, neutral: int, onnx: str
) -> Operator:
    """Declare a scan: `numpy` is the ufunc, `combine` its scalar form, `neutral` its identity."""

    def rule(
        x: Tensor, axis: Tensor, *, exclusive: bool = False, reverse: bool = False
    ) -> TensorType:
        require_elements(name, "number", x)
        require(axis.dtype.is_integer, "E-OP-DTYPE", f"an axis must be an integer, got {axis.type}")
        if axis.value is not None and x.type.shape is not None:
            _axis_of(axis.known, x.rank)
        return x.type

    describe_row(rule, name, words)
    operator = op(kind="scan", exact=False)(rule)

    @operator.reference
    def _(x: Array, axis: Array, *, exclusive: bool, reverse: bool) -> Array:
        at = _axis_of(axis, x.ndim)
        given = np.flip(widened(x), at) if reverse else widened(x)
        with np.errstate(all="ignore"):
            made = numpy.accumulate(given, axis=at, dtype=given.dtype)
        if exclusive:
            first = np.full_like(given[_first(given.ndim, at)], neutral)
            made = np.concatenate([first, made], at)[_all_but_last(given.ndim, at)]
        return rounded(np.flip(made, at) if reverse else made, x)

    @operator.cost
    def _(x: TensorType, axis: TensorType, *, out: TensorType, **_: Any) -> Cost:
        return traffic([x, axis], out, x.n_elements)

    @operator.lower
    def _(
        k: Lowering, x: Handle, axis: Handle, out: Handle, *, exclusive: bool, reverse: bool
    ) -> None:
        at = _axis_of(known_value(axis, f"the axis of a {name}"), x.rank)
        _lower(k, x, out, at, combine, neutral, exclusive, reverse)

    @operator.onnx(onnx)
    def _(n: OnnxCall) -> Call:
        exclusive, reverse = bool(n.attr("exclusive", 0)), bool(n.attr("reverse", 0))
        return operator(n.operand(0), n.operand(1), exclusive=exclusive, reverse=reverse)

    operator.samples(_samples)
    return operator


def _axis_of(axis: Array, rank: int) -> int:
    numbers = np.asarray(axis).reshape(-1)
    require(numbers.size == 1, "E-OP-SHAPE", f"the axis must be one number, got {numbers.size}")
    return normal_axis(int(numbers[0]), rank)


def _first(rank: int, at: int) -> tuple[slice, ...]:
    return tuple(slice(0, 1) if d == at else slice(None) for d in range(rank))


def _all_but_last(rank: int, at: int) -> tuple[slice, ...]:
    return tuple(slice(0, -1) if d == at else slice(None) for d in range(rank))


def _lower(
    k: Lowering,
    x: Handle,
    out: Handle,
    at: int,
    combine: Combine,
    neutral: int,
    exclusive: bool,
    reverse: bool,
) -> None:
    """Emit one running value if the axis is the last, else a contiguous row of running values."""
    n, is_last = x.shape[at], at == x.rank - 1
    width = 1 if is_last else x.shape[-1]
    total = k.temporary((width,), wide(x.dtype), "total")

    def step(r: RoutineBuilder, read: Read, write: Read, running: Read) -> None:
        value = combine(running, k.convert(read, running.dtype))
        if exclusive:
            r.store(write, k.convert(running, write.dtype))
            r.store(running, value)
        else:
            r.store(running, value)
            r.store(write, k.convert(running, write.dtype))

    others = [n for d, n in enumerate(x.shape[:-1]) if d != at]
    with k.routine() as r, r.loops(others) as index:
        before, behind = index[:at], index[at:]
        with r.loop(width, "v", kind="vector") as v:
            r.store(total[v], neutral)
        with r.loop(n, "t") as t:
            place: Expr = n - 1 - t if reverse else t
            if is_last:
                step(r, x[*before, place], out[*before, place], total[0])
            else:
                with r.loop(width, "v", kind="vector") as v:
                    at_v = (*before, place, *behind, v)
                    step(r, x[at_v], out[at_v], total[v])


def _samples() -> Iterator[tuple[Any, ...]]:
    for exclusive in (False, True):
        for reverse in (False, True):
            attrs = {"exclusive": exclusive, "reverse": reverse}
            yield ["f32[7]", np.array(0)], attrs
            yield ["f32[2,4,5]", np.array(1)], attrs
    yield ["f32[3,2,5]", np.array(0, np.int32)], {}
    yield ["i32[2,5]", np.array([-1])], {"reverse": True}
    yield ["f16[3,37]", np.array(0)], {"exclusive": True}
    yield ["f64[2,1,3]", np.array(-2)], {}
    yield ["f32[0,3]", np.array(0)], {"exclusive": True}


cumsum = _scan(
    "cumsum", "Cumulative sums along an axis; `exclusive` sums omit the element itself, and "
    "`reverse` sums start at the end.",
    numpy=np.add, combine=lambda total, x: total + x, neutral=0, onnx="CumSum",
)  # fmt: skip


cumsum.exports_as("CumSum")
cumprod = _scan(
    "cumprod", "Cumulative products along an axis; `exclusive` products omit the element itself, "
    "and `reverse` products start at the end.",
    numpy=np.multiply, combine=lambda total, x: total * x, neutral=1, onnx="CumProd",
)  # fmt: skip


cumprod.exports_as("CumProd")
