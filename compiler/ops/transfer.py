"""The operator that brings a tensor from one memory of a platform to another one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compiler.compute.builder import Handle, Lowering
from compiler.ir.operator import Array, Cost, Operand, Tensor, op, standard
from compiler.ir.types import TensorType


@op(kind="view")
def transfer(x: Tensor, *, source: str, to: str) -> Tensor:
    """Bring a tensor from one memory to another, from which another device reads it.

    `source` and `to` are memories of a platform. Placement puts these nodes into a graph; on one
    machine with one memory nothing has to be moved, and the result lies where x does.
    Shapes: any; the result has the type of x.
    """
    return x


@transfer.reference
def _(x: Array, *, source: str, to: str) -> Array:
    return x


@transfer.cost
def _(x: TensorType, *, out: TensorType, source: str, to: str) -> Cost:
    return Cost()


@transfer.lower
def _(k: Lowering, x: Handle, out: Handle, *, source: str, to: str) -> None:
    index = k.axes(x.shape)
    k.assign(out[index], x[index])


@transfer.export
def _(x: Tensor, *, source: str, to: str) -> Operand:
    return standard("Identity", x)


@transfer.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[2,3,5]"], {"source": "ram", "to": "vram"}
    yield ["i64[7]"], {"source": "vram", "to": "ram"}
    yield ["bool[2,0,4]"], {"source": "ram", "to": "sram"}
