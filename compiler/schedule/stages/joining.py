"""Stages fused into one nest: several results computed and stored at each point.

A kernel with several outputs has a stage for each output. Two outputs over the same points share a
nest if both read the same elements, or if one reads the other. Shared operands are then loaded
once, and shared values are computed once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from compiler.compute.computation import Computation, Routine, Stage
from compiler.compute.scalar import (
    Read,
    Reduce,
    Scalar,
    fetches,
    rewrite,
    substitute,
    walk,
)
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.types import TensorType

SIZE_LIMIT = 96
"""The maximum number of operations of a value substituted into its reader; larger values are
loaded."""

FusedStages = tuple[Stage, ...]
"""Stages that share the loops of the first stage."""


def fuse_stages(computation: Computation) -> list[FusedStages | Routine]:
    """Group the stages that share loops, in an order that respects dependences."""
    made: list[FusedStages | Routine] = []
    for stage in computation.stages:
        if isinstance(stage, Routine):
            made.append(stage)
            continue
        place = _place(stage, made, computation)
        if place is None:
            made.append((stage,))
        else:
            position, joined = place
            made[position] = joined
    return made


def _place(
    stage: Stage, made: Sequence[FusedStages | Routine], computation: Computation
) -> tuple[int, FusedStages] | None:
    """Return the position of the fused stages that a stage can join, and the result of joining."""
    if not _may_join(stage, computation):
        return None
    for position in reversed(range(len(made))):
        before = made[position]
        if isinstance(before, Routine):
            return None
        joined = _joined(before, stage, computation)
        if joined is not None:
            return position, joined
        if any(s.target in stage.read_tensors for s in before):
            return None  # the stage must run after these stages
    return None


def _may_join(stage: Stage, computation: Computation) -> bool:
    alone = sum(stage.target in s.stored_tensors for s in computation.stages) == 1
    return stage.target in computation.outputs and alone and stage.is_identity_indexed()


def _joined(before: FusedStages, stage: Stage, computation: Computation) -> FusedStages | None:
    """Fuse a stage with others; None if this is illegal or if they share no element."""
    first, tensors = before[0], computation.tensors
    if not _may_join(first, computation):
        return None
    if not _lie_alike(tensors[first.target], tensors[stage.target]):
        return None
    moved = _over_axes_of(first, stage)
    if moved is None or not _shares(before, moved):
        return None
    value = _with_values(before, moved)
    if value is None or not _reductions_fit(first.value, value):
        return None
    made = replace(moved, value=value)
    return (*before, replace(made, extents=first.extents) if made.reduce_axes else made)


def _lie_alike(a: TensorType, b: TensorType) -> bool:
    """Return whether two tensor types have equal numbers of lanes and equal channel blocks."""
    lanes = a.dtype is b.dtype or max(a.dtype.nbytes, b.dtype.nbytes) <= 4
    return lanes and a.layout.block == b.layout.block


def _over_axes_of(first: Stage, stage: Stage) -> Stage | None:
    """Rename the axes of a stage to the axes of another stage with the same extents."""
    if len(first.axes) != len(stage.axes):
        return None
    names = dict(zip(stage.axes, first.axes, strict=True))
    if stage.reduce_axes:
        if len(first.reduce_axes) != len(stage.reduce_axes):
            return None
        names.update(zip(stage.reduce_axes, first.reduce_axes, strict=True))
    if any(stage.extents[own] != first.extents[other] for own, other in names.items()):
        return None
    index = tuple(affine.symbol(a) for a in first.axes)
    value = substitute(stage.value, {own: affine.symbol(a) for own, a in names.items()})
    return Stage(stage.target, index, value, {names[a]: n for a, n in stage.extents.items()})


def _shares(before: FusedStages, stage: Stage) -> bool:
    """Return whether a stage shares data with joined stages.

    The shared data are a result of a joined stage, or an element that both read.
    """
    if any(s.target in stage.read_tensors for s in before):
        return True
    once = _once(stage)
    read = {(r.tensor, _at(r.index, once)) for s in before for r in s.reads}
    return any((r.tensor, _at(r.index, once)) in read for r in stage.reads)


def _once(stage: Stage) -> dict[str, Expr]:
    """Map each single-iteration loop to the only value of its index."""
    return {a: 0 for a, n in stage.extents.items() if n == 1}


def _at(index: tuple[Expr, ...], once: dict[str, Expr]) -> tuple[Expr, ...]:
    return tuple(affine.substitute(e, once) for e in index)


def _with_values(before: FusedStages, stage: Stage) -> Scalar | None:
    """Substitute values of joined stages into a stage; None if the stage reads other elements."""
    made, once = {s.target: s for s in before}, _once(stage)
    if any(f.tensor in made for f in fetches(stage.value)):
        return None
    for r in stage.reads:
        if r.tensor in made and _at(r.index, once) != _at(made[r.tensor].index, once):
            return None
    if any(isinstance(p, Reduce) and _reads(p.body, made) for p in walk(stage.value)):
        return None
    n_parts = sum(1 for _ in _parts(stage.value, made))
    if n_parts > SIZE_LIMIT:
        return stage.value

    def change(s: Scalar) -> Scalar | None:
        return made[s.tensor].value if isinstance(s, Read) and s.tensor in made else None

    return rewrite(stage.value, change)


def _reads(value: Scalar, made: dict[str, Stage]) -> bool:
    return any(isinstance(p, Read) and p.tensor in made for p in walk(value))


def _parts(value: Scalar, made: dict[str, Stage]) -> Iterator[Scalar]:
    for part in walk(value):
        yield part
        if isinstance(part, Read) and part.tensor in made:
            yield from walk(made[part.tensor].value)


def _reductions_fit(first: Scalar, value: Scalar) -> bool:
    """Return whether one nest can compute the values of two stages.

    One nest suffices if `value` has no reduction, or a single reduction over the loops of the
    reduction of `first`.
    """
    found = {p for p in walk(value) if isinstance(p, Reduce)}
    own = next((p for p in walk(first) if isinstance(p, Reduce)), None)
    if not found:
        return True
    return len(found) == 1 and own is not None and all(_alike(p, own) for p in found)


def _alike(a: Reduce, b: Reduce) -> bool:
    lanes = a.dtype is b.dtype or max(a.dtype.nbytes, b.dtype.nbytes) <= 4
    return lanes and a.axes == b.axes
