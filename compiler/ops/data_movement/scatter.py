"""Scatters: stores of elements at run-time indices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering, RoutineBuilder
from compiler.compute.scalar import Fetch, Scalar
from compiler.errors import require
from compiler.ir.operator import Array, Call, Cost, OnnxCall, Operand, Tensor, op, standard
from compiler.ir.types import DType, TensorType
from compiler.ops.data_movement.positions import along, from_front, require_positions
from compiler.ops.type_rules.dims import (
    known_value,
    length,
    open_dims,
    parameter,
    same_dtype,
    sizes_of,
)
from compiler.ops.type_rules.requirements import (
    n_elements,
    normal_axis,
    require_elements,
    require_rank,
    require_size,
    traffic,
)

REDUCTIONS: dict[str, tuple[Any, Callable[[Lowering, Scalar, Scalar], Scalar]]] = {
    "add": (np.add, lambda k, old, new: old + new),
    "mul": (np.multiply, lambda k, old, new: old * new),
    "max": (np.maximum, lambda k, old, new: k.max(old, new)),
    "min": (np.minimum, lambda k, old, new: k.min(old, new)),
}
"""The reductions for repeated stores to an element: numpy functions and scalar expressions."""


def _require_reduction(op_name: str, reduction: str, x: Tensor, updates: Tensor) -> None:
    same_dtype([x, updates], op_name)
    words = ", ".join(["none", *REDUCTIONS])
    known = reduction == "none" or reduction in REDUCTIONS
    require(known, "E-OP-ATTRIBUTE", f"the reduction must be one of {words}, got {reduction!r}")
    if reduction != "none":
        require_elements(op_name, "number", x)


def _write(out: Array, index: Any, updates: Array, reduction: str) -> Array:
    """Store to a copy in order; later stores to an element overwrite it or are combined with it."""
    made = np.array(out)
    if reduction == "none":
        made[index] = updates
    else:
        REDUCTIONS[reduction][0].at(made, index, updates)
    return made


def _store(k: Lowering, r: RoutineBuilder, target: Fetch, value: Scalar, reduction: str) -> None:
    r.store(target, value if reduction == "none" else REDUCTIONS[reduction][1](k, target, value))


def _copy(k: Lowering, x: Handle, out: Handle) -> None:
    index = k.axes(out.shape)
    k.assign(out[index], x[index])


def _scatter_cost(
    x: TensorType, indices: TensorType, updates: TensorType, *, out: TensorType, **_: Any
) -> Cost:
    again = Cost(n_elements(updates), updates.nbytes, 0)
    return traffic([x, indices, updates], out, 0) + again


@op(traits=("scattering",), kind="movement")
def scatter_elements(
    x: Tensor, indices: Tensor, updates: Tensor, *, axis: int = 0, reduction: str = "none"
) -> TensorType:
    """Copy x and store single elements: for axis 0, out[indices[i, j], j] = updates[i, j].

    Stores are executed in the order of `updates`. A reduction (add, mul, max, min) combines each
    new element with the stored element.
    Shapes: `indices` and `updates` have equal shapes, with the rank of x. Negative indices count
    from the end; generated code drops out-of-bounds stores.
    Errors: E-OP-DTYPE, E-OP-AXIS, E-OP-SHAPE, E-OP-ATTRIBUTE.
    Source: ONNX ScatterElements-18.
    """
    _require_reduction("scatter_elements", reduction, x, updates)
    require_positions("scatter_elements", indices)
    normal_axis(axis, x.rank)
    require_rank("scatter_elements", indices, [x.rank], "indices")
    require_rank("scatter_elements", updates, [x.rank], "updates")
    for d in range(x.rank):
        what = f"axis {d} of updates"
        require_size("scatter_elements", what, updates.shape[d], indices.shape[d])
    return x.type


@scatter_elements.reference
def _(x: Array, indices: Array, updates: Array, *, axis: int, reduction: str) -> Array:
    return _write(x, along(indices, axis), updates, reduction)


scatter_elements.cost(_scatter_cost)


@scatter_elements.lower
def _(
    k: Lowering,
    x: Handle,
    indices: Handle,
    updates: Handle,
    out: Handle,
    *,
    axis: int,
    reduction: str,
) -> None:
    at = axis % x.rank
    _copy(k, x, out)
    with k.routine() as r, r.loops(updates.shape) as index:
        place = from_front(k, indices[index], x.shape[at])
        target = out.at(*index[:at], place, *index[at + 1 :])
        _store(k, r, target, updates[index], reduction)


@scatter_elements.onnx("ScatterElements", "Scatter")
def _(call: OnnxCall) -> Call:
    operands = (call.operand(i) for i in range(3))
    reduction = call.attr("reduction", "none")
    return scatter_elements(*operands, axis=call.attr("axis", 0), reduction=reduction)


scatter_elements.exports_as("ScatterElements")


@scatter_elements.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[4,3]", np.array([[1, 0, -1], [3, 1, 0]]), "f32[2,3]"], {}
    yield ["f32[2,5]", np.array([[1, 1], [4, -5]], np.int32), "f32[2,2]"], {"axis": 1}
    twice = np.array([[1, 1, 1, -2]])
    yield ["f32[1,3]", twice, "f32[1,4]"], {"axis": -1, "reduction": "add"}
    yield ["f16[1,3]", twice, "f16[1,4]"], {"axis": 1, "reduction": "mul"}
    yield ["i32[1,3]", twice, "i32[1,4]"], {"axis": 1, "reduction": "max"}
    yield ["f32[1,3]", twice, "f32[1,4]"], {"axis": 1, "reduction": "min"}
    yield ["i64[9,2]", "i64[5,2]", "i64[5,2]"], {}
    yield ["bool[3]", "i64[0]", "bool[0]"], {}


@op(traits=("scattering",), kind="movement")
def scatter_nd(
    x: Tensor, indices: Tensor, updates: Tensor, *, reduction: str = "none"
) -> TensorType:
    """Copy x and store slices of `updates` at given indices of x's leading axes.

    Each row along the last axis of `indices` is one index into leading axes of x. Stores are
    executed in order; with a reduction (add, mul, max, min), new elements are combined with the
    stored elements.
    Shapes: with indices [n, d] and x [a1..ad, rest], updates have the shape [n, rest]. Negative
    indices count from the end; generated code drops out-of-bounds stores.
    Errors: E-OP-DTYPE, E-OP-SHAPE, E-OP-ATTRIBUTE.
    Source: ONNX ScatterND-18.
    """
    _require_reduction("scatter_nd", reduction, x, updates)
    require_positions("scatter_nd", indices)
    require(indices.rank > 0, "E-OP-SHAPE", "scatter_nd does not take a scalar as indices")
    length = indices.shape[-1]
    if not isinstance(length, int) or None in (x.type.shape, updates.type.shape):
        return x.type
    message = f"an index into {x.type} needs 1 to {x.rank} numbers, got {length}"
    require(1 <= length <= x.rank, "E-OP-SHAPE", message)
    needed = (*indices.shape[:-1], *x.shape[length:])
    require_rank("scatter_nd", updates, [len(needed)], "updates")
    for d, n in enumerate(needed):
        require_size("scatter_nd", f"axis {d} of updates", updates.shape[d], n)
    return x.type


@scatter_nd.reference
def _(x: Array, indices: Array, updates: Array, *, reduction: str) -> Array:
    return _write(x, tuple(np.moveaxis(indices, -1, 0)), updates, reduction)


scatter_nd.cost(_scatter_cost)


@scatter_nd.lower
def _(
    k: Lowering, x: Handle, indices: Handle, updates: Handle, out: Handle, *, reduction: str
) -> None:
    n_lead = indices.rank - 1
    _copy(k, x, out)
    with k.routine() as r, r.loops(updates.shape) as index:
        lead, rest = index[:n_lead], index[n_lead:]
        place = [from_front(k, indices[*lead, j], x.shape[j]) for j in range(indices.shape[-1])]
        _store(k, r, out.at(*place, *rest), updates[index], reduction)


@scatter_nd.onnx("ScatterND")
def _(call: OnnxCall) -> Call:
    operands = (call.operand(i) for i in range(3))
    return scatter_nd(*operands, reduction=call.attr("reduction", "none"))


scatter_nd.exports_as("ScatterND")


@scatter_nd.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[7]", np.array([[4], [3], [-1], [4]]), "f32[4]"], {}
    yield ["f32[4,2,3]", np.array([[0], [-2]]), "f32[2,2,3]"], {}
    places = np.array([[[0, 1], [1, -1]], [[0, 1], [3, 0]]], np.int64)
    for reduction in REDUCTIONS:
        yield ["f32[4,2,3]", places, "f32[2,2,3]"], {"reduction": reduction}
    yield ["u8[9,9]", "i64[3,2]", "u8[3]"], {}
    yield ["f32[9,2]", "i64[0,1]", "f32[0,2]"], {}


@op(traits=("scattering",), kind="movement")
def max_unpool(
    x: Tensor,
    places: Tensor,
    shape: Tensor | None = None,
    *,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    pads: tuple[int, ...],
) -> TensorType:
    """Invert max_pool: store each element of x at its index, and 0 at all other positions.

    Indices count elements of the image that the windows of max_pool cover. With `shape`, this image
    is the corner of a larger result. Generated code drops out-of-bounds stores.
    Shapes: x and places have equal shapes [N, C, spatial...]; `pads` lists all begins, then all
    ends.
    Errors: E-OP-DTYPE, E-OP-SHAPE, E-OP-ATTRIBUTE.
    Source: ONNX MaxUnpool-22.
    """
    require_elements("max_unpool", "number", x)
    require_positions("max_unpool", places, "the places")
    n_axes = x.rank - 2
    fits = n_axes == len(kernel) == len(strides) and len(pads) == 2 * n_axes > 0
    found = f"kernel {kernel}, strides {strides}, pads {pads}"
    message = f"max_unpool of {x.type} needs windows with {n_axes} spatial axes, got {found}"
    require(fits, "E-OP-ATTRIBUTE", message)
    require_rank("max_unpool", places, [x.rank], "places")
    for d in range(x.rank):
        require_size("max_unpool", f"axis {d} of places", places.shape[d], x.shape[d])
    if shape is None:
        return TensorType(x.dtype, (*x.shape[:2], *_unpooled(x.shape[2:], kernel, strides, pads)))
    require_size("max_unpool", "the shape", length(parameter(shape, "the shape")) or 0, x.rank)
    if shape.value is None:
        return TensorType(x.dtype, open_dims(x.rank, shape))
    return TensorType(x.dtype, tuple(sizes_of(shape.value)))


def _unpooled(sizes: Any, kernel: Any, strides: Any, pads: Any) -> tuple[Any, ...]:
    """Return the sizes of the image that the pooling windows cover."""
    n_axes = len(kernel)
    return tuple(
        (n - 1) * strides[d] + kernel[d] - pads[d] - pads[n_axes + d] for d, n in enumerate(sizes)
    )


@max_unpool.reference
def _(
    x: Array, places: Array, shape: Array | None = None, *, kernel: Any, strides: Any, pads: Any
) -> Array:
    image = (*x.shape[:2], *_unpooled(x.shape[2:], kernel, strides, pads))
    made = np.zeros(np.prod(image), x.dtype)
    made[places.reshape(-1)] = x.reshape(-1)
    if shape is None:
        return made.reshape(image)
    larger = np.zeros(tuple(shape.tolist()), x.dtype)
    larger[tuple(slice(0, n) for n in image)] = made.reshape(image)
    return larger


@max_unpool.cost
def _(
    x: TensorType, places: TensorType, shape: TensorType | None = None, *, out: TensorType, **_: Any
) -> Cost:
    return traffic([x, places, shape], out, 0)


@max_unpool.lower
def _(
    k: Lowering,
    x: Handle,
    places: Handle,
    shape: Handle | None,
    out: Handle,
    *,
    kernel: Any,
    strides: Any,
    pads: Any,
) -> None:
    if shape is not None:
        known_value(shape, "the shape of max_unpool")
    sizes = (x.shape[1], *_unpooled(x.shape[2:], kernel, strides, pads))
    index = k.axes(out.shape)
    k.assign(out[index], k.number(0, out.dtype))
    with k.routine() as r, r.loops(x.shape) as index:
        rest: Scalar = k.convert(places[index], DType.i64)
        is_before = k.lt(rest, 0)
        at: list[Scalar] = []
        for n in reversed(sizes):
            at.insert(0, k.mod(rest, k.index(n)))
            rest = rest / k.index(n)
        r.store(out.at(k.where(is_before, -1, rest), *at), x[index])


@max_unpool.onnx("MaxUnpool")
def _(call: OnnxCall) -> Call:
    kernel = tuple(call.attr("kernel_shape"))
    strides = tuple(call.attr("strides") or (1,) * len(kernel))
    pads = tuple(call.attr("pads") or (0,) * (2 * len(kernel)))
    operands = (call.operand(i) for i in range(3))
    return max_unpool(*operands, kernel=kernel, strides=strides, pads=pads)


@max_unpool.export
def _(
    x: Tensor,
    places: Tensor,
    shape: Tensor | None = None,
    *,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    pads: tuple[int, ...],
) -> Operand | None:
    """Export to MaxUnpool; integers pass through f64, which represents 32-bit integers exactly."""
    if x.dtype.is_integer and x.dtype.bits > 32:
        return None
    given = standard("Cast", x, to=DType.f64) if x.dtype.is_integer else x
    window: dict[str, Any] = {"kernel_shape": kernel, "strides": strides, "pads": pads}
    made = standard("MaxUnpool", given, places, shape, **window)
    return standard("Cast", made, to=x.dtype) if x.dtype.is_integer else made


@max_unpool.samples
def _() -> Iterator[tuple[Any, ...]]:
    square: dict[str, Any] = {"kernel": (2, 2), "strides": (2, 2), "pads": (0, 0, 0, 0)}
    places = np.array([0, 7, 9, 14, 20, 23, 30, 31]).reshape(1, 2, 2, 2)
    yield ["f32[1,2,2,2]", places], square
    yield ["f32[1,2,2,2]", places, np.array([1, 3, 5, 4])], square
    line = np.array([[[1, 4, 5]], [[8, 9, 13]]])
    yield ["i32[2,1,3]", line, None], {"kernel": (4,), "strides": (2,), "pads": (1, 0)}
