"""The operator that copies a tensor into another memory layout."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compiler.compute.builder import Handle, Lowering
from compiler.ir.operator import Array, Cost, Tensor, op
from compiler.ir.types import TensorType


@op(traits=("copying", "single_source", "injective"), kind="movement")
def relayout(x: Tensor) -> Tensor:
    """Copy a tensor to another memory layout, with the same elements and logical shape.

    The layout is part of the result's recorded type, as in `f32[1,64,56,56]{c16,halo=1x1}`.
    Blocked channels fill vectors; with a halo of zeros, window operators need no bounds tests.
    Shapes: any; the result has the type of x.
    """
    return x


@relayout.reference
def _(x: Array) -> Array:
    return x


@relayout.cost
def _(x: TensorType, *, out: TensorType) -> Cost:
    return Cost(0, x.nbytes, out.nbytes)


@relayout.lower
def _(k: Lowering, x: Handle, out: Handle) -> None:
    index = k.axes(x.shape, "ncyxz")
    k.assign(out[index], x[index])


@relayout.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[2,3,5]"], {}
    yield ["i64[7]"], {}
    yield ["bool[2,19,3,4]"], {}
