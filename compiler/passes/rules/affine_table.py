"""Rules that fold arithmetic on gathered rows into the table, especially for embeddings."""

from __future__ import annotations

import numpy as np

from compiler.ir.operator import Operand, Operator, Tensor
from compiler.ir.types import TensorType
from compiler.passes.engine.cost import TRAFFIC
from compiler.passes.engine.pattern import Any, AnyAttr, Const, ConstTensor
from compiler.passes.engine.rule import Because, Rule, rule
from compiler.passes.rules.affine_parts import Objection, check_kept, or_skip
from compiler.passes.rules.arithmetic import combined, reshaped
from compiler.passes.rules.calls import o

TABLE, ROWS, C = Const("table"), Any("rows"), Const("c")
LIMIT_BYTES = 1 << 22
"""Maximum size in bytes of a rewritten table; other readers may keep the original alive as well."""


@rule(
    o.mul(o.gather(TABLE, ROWS, axis=AnyAttr("axis")), C),
    single_use=True,
    example="""
    graph g(second: bool[4]) {
      const table: f32[2,3] = literal(1.0,2.0,3.0,4.0,5.0,6.0)
      const c: f32[3] = literal(2.0,10.0,-1.0)
      rows: i64[4] = cast(second, to=i64)
      y: f32[4,3] = gather(table, rows, axis=0)
      z: f32[4,3] = mul(y, c)
      return z
    }
    =>
    graph g(second: bool[4]) {
      const z.x: f32[2,3] = literal(2.0,20.0,-3.0,8.0,50.0,-6.0)
      rows: i64[4] = cast(second, to=i64)
      z: f32[4,3] = gather(z.x, rows, axis=0)
      return z
    }
    """,
    near_miss="""
    graph g(rows: i64[4]) {
      const table: f32[3,2] = literal(1.0,2.0,3.0,4.0,5.0,6.0)
      const for_each_place: f32[4,1] = literal(2.0,10.0,1.0,3.0)
      y: f32[4,2] = gather(table, rows, axis=0)
      z: f32[4,2] = mul(y, for_each_place)
      return z
    }
    """,
    result="t",
)
@or_skip
def scale_of_table(
    table: ConstTensor, rows: Tensor, c: ConstTensor, axis: int, t: TensorType
) -> Operand:
    """Fold a scale of gathered rows into the table.

    The factor of a table element is the same for every gather of its row. Each table element is
    therefore scaled once, at compile time.
    """
    return _changed(o.mul, table, rows, c, axis, t)


@rule(
    o.add(o.gather(TABLE, ROWS, axis=AnyAttr("axis")), C),
    single_use=True,
    example="""
    graph g(second: bool[4]) {
      const table: f32[3,2] = literal(1.0,2.0,3.0,4.0,5.0,6.0)
      const c: f32[3,1] = literal(2.0,10.0,-1.0)
      columns: i64[4] = cast(second, to=i64)
      y: f32[3,4] = gather(table, columns, axis=1)
      z: f32[3,4] = add(y, c)
      return z
    }
    =>
    graph g(second: bool[4]) {
      const z.x: f32[3,2] = literal(3.0,4.0,13.0,14.0,4.0,5.0)
      columns: i64[4] = cast(second, to=i64)
      z: f32[3,4] = gather(z.x, columns, axis=1)
      return z
    }
    """,
    near_miss="""
    graph g(rows: i64[1]) {
      const table: f32[3,2] = literal(1.0,2.0,3.0,4.0,5.0,6.0)
      const positions: f32[5,2] = splat(0.5)
      y: f32[1,2] = gather(table, rows, axis=0)
      z: f32[5,2] = add(y, positions)
      return z
    }
    """,
    result="t",
)
@or_skip
def shift_of_table(
    table: ConstTensor, rows: Tensor, c: ConstTensor, axis: int, t: TensorType
) -> Operand:
    """Fold a shift of gathered rows into the table."""
    return _changed(o.add, table, rows, c, axis, t)


def _changed(
    operator: Operator, table: ConstTensor, rows: Tensor, c: ConstTensor, axis: int, t: TensorType
) -> Operand:
    if t.shape is None or rows.type.shape is None:
        raise Objection(f"the rank of {rows.name} is not known")
    held = table.stored.type.nbytes
    if held > LIMIT_BYTES:
        raise Objection(
            f"other readers may keep the original table of {held:,} bytes in memory too"
        )
    fn = np.multiply if operator.name == "mul" else np.add
    made = combined(fn, table.stored, reshaped(c.stored, _in_table(table, rows, c, axis, t)))
    check_kept(made, table.stored, c.stored)
    return Because(
        o.gather(made, rows, axis=axis),
        f"a table of {held:,} bytes is rewritten once, at compile time; {TRAFFIC}",
    )


def _in_table(
    table: ConstTensor, rows: Tensor, c: ConstTensor, axis: int, t: TensorType
) -> tuple[int, ...]:
    """Return the shape in which a constant broadcasts to the table, or raise Objection."""
    if t.rank != table.rank + rows.rank - 1:
        raise Objection(f"{c.name} has more axes than the gathered rows")
    at = axis % table.rank
    sizes = (1,) * (t.rank - c.rank) + c.stored.type.static_shape
    found = sizes[at : at + rows.rank]
    if any(n != 1 for n in found):
        raise Objection(f"{c.name} varies along the axes of the indices")
    made = (*sizes[:at], 1, *sizes[at + rows.rank :])
    for n, size in zip(made, table.stored.type.static_shape, strict=True):
        if n not in (1, size):
            raise Objection(
                f"{c.name} is {c.type}, which does not broadcast to the table, a {table.type}"
            )
    return made


TABLE_RULES: list[Rule] = [scale_of_table, shift_of_table]
"""Rules of `fold_affine` for tables, in the order they are tried."""
