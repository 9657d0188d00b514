"""Copy right operands of matrix products into panels as wide as a register tile.

A product reads its right operand row by row, a few vectors of each row. When the rows are far
apart, each step accesses another page. Rows at a power-of-two stride share one cache set and evict
each other. Constants are packed at compile time. For other operands, a copy repays its cost if
enough rows of the left operand use the copy. A transposed operand is copied directly into the order
that vectors need. Source: Goto and van de Geijn 2008, packing of B.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd

from compiler.compute.computation import Computation, Routine, Stage, axis_of
from compiler.compute.scalar import Apply, Read, Scalar, rewrite
from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir.types import DType, TensorType
from compiler.schedule.policies.tiles import FEW_REGISTERS, WAY_BYTES, choose_tile
from compiler.targets.target import Target

LEAST_ROWS = 64
"""The minimum number of uses per element for a copy, which reads and writes each element once."""

LEAST_TURNED_ROWS = 8
"""The minimum number of uses per element for a copy of a transposed operand. Without a copy, the
product must gather the vectors of the operand."""

KEPT_LINES = 4
"""The number of cache lines of one L1 set that are not evicted before the next rows are read."""

L2_SHARE = 0.5
"""The fraction of L2 up to which an operand is read in place, if its rows use different cache
sets."""


@dataclass(frozen=True, slots=True)
class _Operand:
    """The right operand of a product, the axis of its columns, and the columns per panel."""

    read: Read
    column: str
    width: int


def into_panels(computation: Computation, constants: frozenset[str], target: Target) -> Computation:
    """Add a copy stage before each product that runs faster with a copied right operand."""
    stages: list[Stage | Routine] = []
    tensors = dict(computation.tensors)
    for stage in computation.stages:
        found = _operand(stage, computation, constants, target)
        if found is not None:
            assert isinstance(stage, Stage)
            copy, stage = _with_copy(stage, found, tensors)
            stages.insert(_earliest(stages, copy), copy)
        stages.append(stage)
    return replace(computation, tensors=tensors, stages=tuple(stages))


def _earliest(stages: Sequence[Stage | Routine], copy: Stage) -> int:
    """Return the earliest legal position for a copy stage, so that later stages stay adjacent."""
    makers = [i for i, s in enumerate(stages) if copy.read_tensors & s.stored_tensors]
    return makers[-1] + 1 if makers else 0


def _operand(
    stage: Stage | Routine, computation: Computation, constants: frozenset[str], target: Target
) -> _Operand | None:
    if isinstance(stage, Routine) or stage.reduce is None or len(stage.axes) < 2:
        return None
    body = stage.reduce.body
    if not (isinstance(body, Apply) and body.fn == "mul" and body.dtype in (DType.f32, DType.f64)):
        return None
    if not computation.tensors[stage.target].layout.is_plain:
        return None
    column = stage.axes[-1]
    for read in body.args:
        if not isinstance(read, Read) or read.tensor in constants:
            continue
        axes = [axis_of(e) for e in read.index]
        plain = computation.tensors[read.tensor].layout.is_plain
        known = [a for a, e in zip(axes, read.index, strict=True) if e != 0]
        if not plain or column not in known or not all(known) or len({*known}) < len(known):
            continue
        width = _panel(stage, read, target)
        if width is not None:
            return _Operand(read, column, width)
    return None


def _panel(stage: Stage, read: Read, target: Target) -> int | None:
    """Return the number of columns per panel; None if reading the operand in place is as fast."""
    axes = _axes(read)
    column = stage.axes[-1]
    n_columns = stage.extents[column]
    lanes = target.lanes(read.dtype.nbytes)
    if not isinstance(n_columns, int) or n_columns % lanes or len(axes) < 2:
        return None
    n_rows = _product(stage, [a for a in stage.axes if a not in axes])
    depth = _product(stage, [a for a in stage.reduce_axes if a in axes])
    if depth <= lanes or n_columns <= lanes:
        return None
    if not _pays(n_rows, depth, n_columns, read.dtype.nbytes, axes[-1] != column, target):
        return None
    n_vectors = n_columns // lanes
    tile = choose_tile(n_rows, n_vectors, depth, target, depth * read.dtype.nbytes)
    vectors = next(v for v in range(tile.vectors, 0, -1) if n_vectors % v == 0)
    return vectors * lanes if vectors * lanes < n_columns else None


def _axes(read: Read) -> list[str]:
    """Return the loops that index an operand; an axis with the constant index 0 has none."""
    return [str(axis_of(e)) for e in read.index if e != 0]


def _pays(
    n_rows: int, depth: int, n_columns: int, nbytes: int, is_turned: bool, target: Target
) -> bool:
    if is_turned:
        return n_rows >= LEAST_TURNED_ROWS
    if n_rows < LEAST_ROWS:
        return False
    if _conflicts(depth, n_columns * nbytes, target):
        return True
    return depth * n_columns * nbytes > target.l2_bytes * L2_SHARE


def _conflicts(depth: int, row_bytes: int, target: Target) -> bool:
    """Return whether the cache lines of a tile's columns evict each other from L1.

    Rows at a power-of-two stride share cache sets. Wide tiles (many registers) read several lines
    of each row, and these lines use more cache sets. Narrow tiles (few registers) fill the cache
    sets with few rows.
    """
    sets = WAY_BYTES // gcd(row_bytes, WAY_BYTES)
    if target.n_vector_registers > FEW_REGISTERS:
        return sets == 1 and depth * target.vector_bytes > WAY_BYTES
    return depth > sets * KEPT_LINES and depth * target.vector_bytes >= WAY_BYTES


def _product(stage: Stage, axes: list[str]) -> int:
    total = 1
    for a in axes:
        total *= affine.assumed(stage.extents[a])
    return total


def _with_copy(
    stage: Stage, operand: _Operand, tensors: dict[str, TensorType]
) -> tuple[Stage, Stage]:
    """Return the stage that fills the panels, and the product that reads them."""
    read, column, width = operand.read, operand.column, operand.width
    others = [a for a in _axes(read) if a != column]
    outer = [a for a in others if a not in stage.reduce_axes]
    deep = [a for a in others if a in stage.reduce_axes]
    name = f"{read.tensor}_PANELS"
    while name in tensors:
        name += "_"
    n = affine.symbol(column)
    first, place = f"{column}_panel", f"{column}_place"
    extents = {a: stage.extents[a] for a in outer}
    extents |= {first: stage.extents[column] // width}
    extents |= {a: stage.extents[a] for a in deep}
    extents |= {place: width}
    joined = affine.symbol(first) * width + affine.symbol(place)
    source = tuple(affine.substitute(e, {column: joined}) for e in read.index)
    tensors[name] = TensorType(read.dtype, tuple(extents.values()))
    index = tuple(map(affine.symbol, extents))
    copy = Stage(name, index, replace(read, index=source), extents)
    panels = {first: affine.floordiv(n, width), place: affine.mod(n, width)}
    new_read = Read(name, tuple(affine.substitute(e, panels) for e in index), read.dtype)

    def change(s: Scalar) -> Scalar | None:
        return new_read if s == read else None

    return copy, replace(stage, value=rewrite(stage.value, change))
