"""Copy transposed right operands of products to temporaries, so that their rows are contiguous.

Without the copy, a product would load each vector element by element. The copy costs far less than
these loads. Constants need no copy: they are packed at compile time.
"""

from __future__ import annotations

from dataclasses import replace

from compiler.compute.computation import Computation, Routine, Stage, axis_of
from compiler.compute.scalar import Apply, Read, Scalar, rewrite
from compiler.ir import affine
from compiler.ir.types import TensorType
from compiler.targets.target import Target

LEAST_ROWS = 8
"""The minimum number of rows for a copy; products with fewer rows become dot products."""


def turn_operands(
    computation: Computation, constants: frozenset[str], target: Target
) -> Computation:
    """Add a copy stage before each product with a transposed right operand."""
    for position, stage in enumerate(computation.stages):
        read = _transposed_operand(stage, computation, constants)
        if read is not None:
            return _with_copy(computation, position, read, target)
    return computation


def _transposed_operand(
    stage: Stage | Routine, computation: Computation, constants: frozenset[str]
) -> Read | None:
    """Return a product's transposed right operand: elements of adjacent columns are far apart."""
    if isinstance(stage, Routine):
        return None
    reduce = stage.reduce
    body = reduce.body if reduce is not None else None
    if not (isinstance(body, Apply) and body.fn == "mul" and stage.axes):
        return None
    if not computation.tensors[stage.target].layout.is_plain or len(stage.axes) < 2:
        return None
    column, (*_, row, _) = stage.axes[-1], (None, *stage.axes)
    n_columns, n_rows = (affine.assumed(stage.extents[str(a)]) for a in (column, row))
    if n_columns < 16 or n_rows < LEAST_ROWS:
        return None
    for operand in body.args:
        if isinstance(operand, Read) and operand.tensor not in constants:
            axes = [axis_of(e) for e in operand.index]
            plain = computation.tensors[operand.tensor].layout.is_plain
            known = all(a or e == 0 for a, e in zip(axes, operand.index, strict=True))
            if plain and known and column in axes[:-1] and axes[-1] in stage.reduce_axes:
                return operand
    return None


def _with_copy(computation: Computation, position: int, read: Read, target: Target) -> Computation:
    stage = computation.stages[position]
    assert isinstance(stage, Stage)
    column = stage.axes[-1]
    axes = [a for e in read.index if (a := axis_of(e))]
    turned = (*(a for a in axes if a != column), column)
    name = f"{read.tensor}_TURNED"
    while name in computation.tensors:
        name += "_"
    index = tuple(affine.symbol(a) for a in turned)
    *outer, n_columns = (stage.extents[a] for a in turned)
    if isinstance(n_columns, int):
        lanes = target.lanes(read.dtype.nbytes)
        n_columns = -(-n_columns // lanes) * lanes
    t = TensorType(read.dtype, (*outer, n_columns))
    copy = Stage(name, index, read, {a: stage.extents[a] for a in turned})
    new_read = Read(name, index, read.dtype)

    def change(s: Scalar) -> Scalar | None:
        return new_read if s == read else None

    product = replace(stage, value=rewrite(stage.value, change))
    return replace(
        computation,
        tensors={**computation.tensors, name: t},
        stages=(
            *computation.stages[:position],
            copy,
            product,
            *computation.stages[position + 1 :],
        ),
    )
