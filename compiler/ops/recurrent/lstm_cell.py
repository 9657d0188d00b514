"""The gates of one LSTM step as one operator, which the page shows as a single node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.compute.scalar import Scalar
from compiler.errors import CompileError, require
from compiler.ir.operator import Array, Cost, Operand, Tensor, op
from compiler.ir.types import TensorType
from compiler.ops.data_movement.concat import split
from compiler.ops.elementwise.activations import sigmoid
from compiler.ops.elementwise.arithmetic import add, mul, tanh
from compiler.ops.type_rules.requirements import (
    n_elements,
    require_elements,
    rounded,
    traffic,
    wide,
    widened,
)


@op(kind="scan", exact=False)
def lstm_cell(gates: Tensor, c: Tensor, *, order: str = "ifgo") -> tuple[TensorType, TensorType]:
    """The gates of one LSTM step: forget gate f, input gate i, output gate o, candidate g.

    The activations are sigmoid for i, f and o, and tanh for g. The new cell is f c + i g, and the
    new state is o tanh(new cell). The first result is the new cell, the second is the new state.
    `order` names the four gates in their order along the last axis of `gates`.
    Shapes: gates [..., 4H], c [..., H]; both results have the shape of c.
    Errors: E-OP-ATTRIBUTE for an invalid order of gates, E-OP-SHAPE, E-OP-DTYPE.
    Source: Hochreiter and Schmidhuber 1997; Gers et al. 2000 for the forget gate.
    """
    require_elements("lstm_cell", "float", gates, c)
    known = sorted(order) == sorted("ifgo")
    require(known, "E-OP-ATTRIBUTE", f"order needs the letters i, f, g, o once each, got {order!r}")
    fits = gates.rank == c.rank >= 1
    for axis, (n, size) in enumerate(zip(gates.shape, c.shape, strict=False)):
        needed = size * 4 if axis == c.rank - 1 else size
        both = isinstance(n, int) and isinstance(needed, int)
        fits = fits and (n == needed or not both)
    require(
        fits, "E-OP-SHAPE", f"lstm_cell needs four gates per element of {c.type}, got {gates.type}"
    )
    return c.type, c.type


@lstm_cell.reference
def _(gates: Array, c: Array, *, order: str) -> tuple[Array, Array]:
    parts = dict(zip(order, np.split(widened(gates), 4, axis=-1), strict=True))
    with np.errstate(all="ignore"):
        i, f, shown = (1 / (1 + np.exp(-parts[gate])) for gate in "ifo")
        new = f * widened(c) + i * np.tanh(parts["g"])
        return rounded(new, c), rounded(shown * np.tanh(new), c)


@lstm_cell.cost
def _(gates: TensorType, c: TensorType, *, out: tuple[TensorType, ...], order: str) -> Cost:
    return traffic([gates, c], out, 24 * n_elements(out[0]))


@lstm_cell.lower
def _(k: Lowering, gates: Handle, c: Handle, new: Handle, state: Handle, *, order: str) -> None:
    index = k.axes(c.shape)
    *outer, last = index

    def part(gate: str) -> Scalar:
        place = last + order.index(gate) * c.shape[-1]
        return k.convert(gates[*outer, place], wide(c.dtype))

    cell = k.sigmoid(part("f")) * k.convert(c[index], wide(c.dtype))
    cell = cell + k.sigmoid(part("i")) * k.tanh(part("g"))
    k.assign(new[index], k.convert(cell, c.dtype))
    k.assign(state[index], k.convert(k.sigmoid(part("o")) * k.tanh(cell), c.dtype))


@lstm_cell.export
def _(gates: Tensor, c: Tensor, *, order: str) -> tuple[Operand, ...]:
    size = c.shape[-1]
    if not isinstance(size, int):
        raise CompileError("E-SHAPE-OPEN", f"the last axis of {c.type} is open")
    made = split(gates, axis=-1, sizes=(size,) * 4)
    parts = {gate: made.out(k) for k, gate in enumerate(order)}
    kept, filled = mul(sigmoid(parts["f"]), c), mul(sigmoid(parts["i"]), tanh(parts["g"]))
    new = add(kept, filled).out(0)
    return new, mul(sigmoid(parts["o"]), tanh(new))


@lstm_cell.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[3,20]", "f32[3,5]"], {}
    yield ["f32[2,3,28]", "f32[2,3,7]"], {"order": "iofg"}
    yield ["f32[4]", "f32[1]"], {"order": "igfo"}
    yield ["f64[2,12]", "f64[2,3]"], {"order": "goif"}
    yield ["f32[0,8]", "f32[0,2]"], {}
