"""Lowering of a stage over logical tensors to an untransformed nest over physical buffers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from compiler.compute.computation import Stage
from compiler.compute.scalar import Convert, Inside, Number, Read, Reduce, Scalar, rewrite
from compiler.ir import affine
from compiler.ir.affine import Expr, Range
from compiler.ir.types import TensorType
from compiler.schedule.indices import lies_inside, substitute
from compiler.schedule.nest import Axis, Nest


def nest_of(
    stage: Stage, tensors: Mapping[str, TensorType], around: Mapping[str, Range] | None = None
) -> Nest:
    """Build the untransformed nest of a stage: the stage's loops in order, over physical buffers.

    Loops with a single iteration are removed. Reads of padding become reads of a halo, if present.
    `around` are the loops around the entire nest.
    """
    around = around or {}
    reduced = set(stage.reduce_axes)
    axes = tuple(Axis(v, n, v in reduced) for v, n in stage.extents.items() if n != 1)
    ranges: dict[str, Range] = {**around, **{a.var: a.range for a in axes}}
    once: dict[str, Expr] = {v: 0 for v, n in stage.extents.items() if n == 1}
    kept = tuple(a.var for a in axes if a.is_reduction)
    value = substitute(stage.value, once, ranges, kept)
    extents = {a.var: a.extent for a in axes}
    value = physical(value, tensors, ranges, extents)
    if not kept:
        value = rewrite(value, lambda s: s.body if isinstance(s, Reduce) else None)
    layout = tensors[stage.target].layout
    index = layout.physical_index(tuple(affine.substitute(e, once) for e in stage.index))
    return Nest(
        stage.target,
        tuple(affine.simplify(e, ranges) for e in index),
        value,
        axes,
        tensors,
        {},
        {n: t.layout.physical_shape(t.dims) for n, t in tensors.items()},
        bool(layout.halo),
        around=around,
    )


def physical(
    value: Scalar,
    tensors: Mapping[str, TensorType],
    ranges: Mapping[str, Range],
    extents: Mapping[str, Expr],
) -> Scalar:
    """Rewrite a value so that it reads physical buffers at the physical indices of the layouts."""
    value = rewrite(value, lambda s: _through_halo(s, tensors, ranges, extents))
    value = rewrite(value, lambda s: _physical(s, tensors))
    return substitute(value, {}, ranges)


def _physical(s: Scalar, tensors: Mapping[str, TensorType]) -> Scalar | None:
    if isinstance(s, Read):
        return replace(s, index=tensors[s.tensor].layout.physical_index(s.index))
    return None


def _through_halo(
    s: Scalar,
    tensors: Mapping[str, TensorType],
    ranges: Mapping[str, Range],
    extents: Mapping[str, Expr],
) -> Scalar | None:
    """Replace a padded read by a plain read if the halo contains the padding."""
    if not (isinstance(s, Inside) and isinstance(s.otherwise, Number)):
        return None
    read = s.then.arg if isinstance(s.then, Convert) else s.then
    if not isinstance(read, Read):
        return None
    t = tensors[read.tensor]
    if not t.layout.halo or s.otherwise.value != t.layout.around:
        return None
    halo = (0, 0, *t.layout.halo)
    reach = {e: (n, h) for e, n, h in zip(read.index, t.dims, halo, strict=True)}
    for e, n in s.tests:
        size, h = reach.get(e, (-1, 0))
        if size != n or not lies_inside(e + h, n + 2 * h, ranges, extents):
            return None
    return s.then
