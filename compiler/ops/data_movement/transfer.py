"""The operator that copies a tensor between two memories of a platform."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compiler.compute.builder import Handle, Lowering
from compiler.ir.operator import Array, Cost, Operand, Tensor, op, standard
from compiler.ir.types import TensorType


@op(kind="view")
def transfer(x: Tensor, *, source: str, to: str) -> Tensor:
    """Copy a tensor from one memory to another, for a device that uses the second memory.

    `source` and `to` are the names of memories of a platform. Placement inserts transfer nodes; on
    a machine with one memory, the result aliases x.
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
