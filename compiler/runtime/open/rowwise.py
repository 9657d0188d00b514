"""Row independence of a program: a proof that rows appended to a batch do not affect other rows.

The proof checks each computation: a size N may occur only as the size of a value's first axis. A
row of a result may read only the same row of other values. No operation may reduce over rows or
depend on their number.
"""

from __future__ import annotations

from collections.abc import Iterable

from compiler.compute.computation import Computation, Stage, axis_of
from compiler.compute.scalar import Fetch, IndexValue, Inside, Read, Scalar, walk
from compiler.ir import affine
from compiler.ir.graph import Graph
from compiler.ir.types import TensorType, Type
from compiler.runtime.thunks.select import NativeThunk, Thunk, ViewThunk


def is_rowwise(graph: Graph, thunks: Iterable[Thunk], symbol: str) -> bool:
    """Return whether row i of results depends only on row i of inputs; `symbol` counts rows."""
    values = [*(v.type for v in graph.inputs), *(t for n in graph.nodes for t in n.types)]
    if not all(_rows_first(t, symbol) for t in values):
        return False
    return all(_keeps_rows(w, graph, symbol) for w in thunks)


def _rows_first(t: Type, symbol: str) -> bool:
    """Return whether a size occurs in a type at most once, as the entire first dimension."""
    if not isinstance(t, TensorType) or t.shape is None:
        return False
    rest = t.shape[1:] if t.shape and affine.axis_symbol(t.shape[0]) == symbol else t.shape
    return all(symbol not in affine.symbols(d) for d in rest)


def _has_rows(t: Type, symbol: str) -> bool:
    return isinstance(t, TensorType) and bool(t.shape) and affine.axis_symbol(t.dims[0]) == symbol


def _keeps_rows(thunk: Thunk, graph: Graph, symbol: str) -> bool:
    if isinstance(thunk, ViewThunk):
        return _has_rows(graph.types[thunk.source], symbol) == _has_rows(thunk.node.type, symbol)
    if not isinstance(thunk, NativeThunk):
        return False
    sizes = [n for n, e in thunk.lowered.sizes.items() if symbol in affine.symbols(e)]
    if not sizes:
        return True
    if len(sizes) > 1 or affine.axis_symbol(thunk.lowered.sizes[sizes[0]]) != symbol:
        return False
    return _is_rowwise(thunk.lowered.computation, sizes[0])


def _is_rowwise(c: Computation, size: str) -> bool:
    return all(_rows_first(t, size) for t in c.tensors.values()) and all(
        isinstance(s, Stage) and _stage_is_rowwise(s, c, size) for s in c.stages
    )


def _stage_is_rowwise(stage: Stage, c: Computation, size: str) -> bool:
    target = c.tensors[stage.target]
    row = axis_of(stage.index[0]) if _has_rows(target, size) else None
    if _has_rows(target, size) and (row is None or row in stage.reduce_axes):
        return False
    for axis, extent in stage.extents.items():
        if axis != row and size in affine.symbols(extent):
            return False
    rest = stage.index[1:] if row else stage.index
    forbidden = {size, row or size}
    if any(forbidden & affine.symbols(e) for e in rest):
        return False
    return all(_part_is_rowwise(p, c, size, row) for p in walk(stage.value))


def _part_is_rowwise(part: Scalar, c: Computation, size: str, row: str | None) -> bool:
    forbidden = {size, row or size}
    match part:
        case Read(tensor, index):
            if _has_rows(c.tensors[tensor], size):
                if row is None or axis_of(index[0]) != row:
                    return False
                index = index[1:]
            return not any(forbidden & affine.symbols(e) for e in index)
        case Fetch(tensor):
            return not _has_rows(c.tensors[tensor], size)
        case IndexValue(expr):
            return not forbidden & affine.symbols(expr)
        case Inside(tests):
            return not any(forbidden & affine.symbols(e) for test in tests for e in test)
        case _:
            return True
