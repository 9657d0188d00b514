"""The halo of an image (mostly zeros), stored by the kernel that computes the image."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.compute.scalar import Number
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.loops.nodes import Loop, Statement, Store
from compiler.schedule.nest import Nest


def zero_halo(nest: Nest, target: str) -> tuple[Statement, ...]:
    """Store the halo of each image of a target; the elements of the images stay unchanged."""
    t = nest.tensors[target]
    shape = t.layout.physical_shape(t.dims)
    around = t.layout.around
    zero = Number(float(around) if t.dtype.is_float else around, t.dtype)
    statements: list[Statement] = []
    for axis, h in enumerate(t.layout.halo, start=2):
        if not h:
            continue
        for start, stop in ((0, h), (shape[axis] - h, shape[axis])):
            bounds: list[Bounds] = [(0, n) for n in shape]
            bounds[axis] = (start, stop)
            # The borders of earlier axes are already stored.
            for other, oh in enumerate(t.layout.halo[: axis - 2], start=2):
                bounds[other] = (oh, shape[other] - oh)
            statements += _fill(target, bounds, zero, f"h{axis}{'ab'[start != 0]}")
    return tuple(statements)


Bounds = tuple[Expr, Expr]


def _fill(target: str, bounds: list[Bounds], value: Number, prefix: str) -> tuple[Statement, ...]:
    lanes = 16
    index: list[Expr] = []
    loops: list[tuple[str, Expr, Expr]] = []
    for d, (start, stop) in enumerate(bounds):
        if stop - start == 1:
            index.append(start)
        else:
            index.append(affine.symbol(f"{prefix}{d}"))
            loops.append((f"{prefix}{d}", start, stop))
    body: tuple[Statement, ...] = (Store(target, tuple(index), value),)
    for position, (var, start, stop) in enumerate(reversed(loops)):
        if position == 0 and affine.bounds(stop - start, {})[1] <= lanes:
            at = {var: start + affine.symbol(var)}
            body = (Loop(var, 0, stop - start, _moved(body, at), "vector"),)
        elif position == 0:
            body = _vector_parts(var, start, stop, body, lanes)
        else:
            body = (Loop(var, start, stop, body),)
    return body


def _vector_parts(
    var: str, start: Expr, stop: Expr, body: tuple[Statement, ...], lanes: int
) -> tuple[Statement, ...]:
    """Emit stores to contiguous elements as full vectors and a shorter remainder."""
    n_full, rest = (stop - start) // lanes, (stop - start) % lanes
    i, lane = affine.symbol(f"{var}o"), affine.symbol(f"{var}v")

    def at(first: Expr, n: Expr) -> Loop:
        kind = "vector" if isinstance(n, int) else "for"
        return Loop(f"{var}v", 0, n, _moved(body, {var: first + lane}), kind)

    parts: list[Statement] = (
        [Loop(f"{var}o", 0, n_full, (at(i * lanes + start, lanes),))] if n_full != 0 else []
    )
    if rest != 0:
        parts.append(at(start + n_full * lanes, rest))
    return tuple(parts)


def _moved(body: tuple[Statement, ...], values: Mapping[str, Expr]) -> tuple[Statement, ...]:
    """Substitute indices in a store."""
    (store,) = body
    assert isinstance(store, Store)
    index = tuple(affine.substitute(e, values) for e in store.index)
    return (Store(store.buffer, index, store.value),)
