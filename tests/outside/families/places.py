"""Gather and scatter, sorting, and selections whose size depends on data."""

from __future__ import annotations

import numpy as np

from tests.outside.draft import Draft, Dropped
from tests.outside.family import family
from tests.outside.values import FLOATS, INTEGERS, TENSORS, Shape, some_shape

ANY = (*TENSORS, "str")


def places(d: Draft, size: int, shape: Shape, label: str = "i64") -> str:
    """Return indices within an axis, some negative. Errors: Dropped if the axis is empty."""
    if size == 0 and 0 not in shape:
        raise Dropped
    numbers = np.random.default_rng(d.chance.getrandbits(32))
    low = -size if d.maybe(0.4) else 0
    made = np.asarray(numbers.integers(low, max(size, 1), shape))
    made = made.astype(np.int32 if label == "i32" else np.int64)
    return d.constant(made) if d.maybe() else d.given(made)


def index_label(d: Draft) -> str:
    return d.chance.choice(("i64", "i64", "i32"))


@family("Gather", weight=3)
def _(d: Draft, op: str) -> None:
    """Strings only along the last axis: ONNX Runtime copies one string of each slice."""
    x = d.tensor(ANY, (1, 5))
    axis = d.axis(len(d.shape(x))) if d.label(x) != "str" else -1
    shape = d.chance.choice(((), (1,), (1, 1), (3,), (2, 3), some_shape(d.chance, 0, 2)))
    d.one(op, [x, places(d, d.shape(x)[axis], shape, index_label(d))], axis=axis)


@family("GatherElements", weight=1.5)
def _(d: Draft, op: str) -> None:
    x = d.tensor(ANY, (1, 4))
    shape, axis = list(d.shape(x)), d.axis(len(d.shape(x)))
    picked = [d.chance.randint(min(1, n), n) for n in shape]
    picked[axis] = d.chance.choice((1, 2, 5))
    d.one(op, [x, places(d, shape[axis], tuple(picked), index_label(d))], axis=axis)


def tuples(d: Draft, shape: Shape, lead: Shape, depth: int, batch: int) -> np.ndarray:
    """Return indices into `depth` axes of a shape after its first `batch` axes."""
    numbers = np.random.default_rng(d.chance.getrandbits(32))
    parts = [
        numbers.integers(-n if d.maybe(0.3) else 0, n, lead) for n in shape[batch : batch + depth]
    ]
    return np.stack(parts, -1).astype(np.int64)


@family("GatherND")
def _(d: Draft, op: str) -> None:
    x = d.tensor(ANY, (1, 4), lambda v: v.size > 0)
    shape = d.shape(x)
    batch = d.chance.choice((0, 0, 1)) if len(shape) > 1 else 0
    depth = d.chance.randint(1, len(shape) - batch)
    lead = (*shape[:batch], *d.chance.choice(((), (2,), (3, 2))))
    indices = d.given(tuples(d, shape, lead, depth, batch))
    d.one(op, [x, indices], batch_dims=batch or None)


@family("ScatterElements", "Scatter", weight=1.2)
def _(d: Draft, op: str) -> None:
    """Distinct indices without a reduction, possibly equal indices with one."""
    x = d.tensor(("f32", "f64", "i32", "i64", "bool", "u8"), (1, 4), lambda v: v.size > 0)
    shape, axis = d.shape(x), d.axis(len(d.shape(x)))
    label = d.label(x)
    ways = (None, "none") if label == "bool" else (None, "none", "add", "mul", "max", "min")
    way = d.chance.choice(ways) if op == "ScatterElements" else None
    numbers = np.random.default_rng(d.chance.getrandbits(32))
    some = [d.chance.randint(1, n) for n in shape]
    order = numbers.permuted(np.broadcast_to(_along(shape, axis), shape), axis=axis)
    indices = order[tuple(slice(n) for n in some)]
    if way not in (None, "none"):
        indices = numbers.integers(-shape[axis], shape[axis], some)
    index = d.given(np.ascontiguousarray(indices, np.int64))
    d.one(op, [x, index, d.like(label, some)], axis=axis, reduction=way)


def _along(shape: Shape, axis: int) -> np.ndarray:
    lengths = [1] * len(shape)
    lengths[axis] = shape[axis]
    return np.arange(shape[axis]).reshape(lengths)


@family("ScatterND", weight=1.2)
def _(d: Draft, op: str) -> None:
    x = d.tensor(("f32", "f64", "i32", "i64", "bool", "u8"), (1, 4), lambda v: v.size > 0)
    shape, label = d.shape(x), d.label(x)
    depth = d.chance.randint(1, len(shape))
    n_places = int(np.prod(shape[:depth]))
    n = d.chance.randint(1, min(5, n_places))
    ways = (None, "none") if label == "bool" else (None, "none", "add", "mul", "max", "min")
    way = d.chance.choice(ways)
    flat = d.chance.sample(range(n_places), n)
    if way not in (None, "none"):
        flat = [d.chance.choice(flat) for _ in flat]
    indices = np.stack(np.unravel_index(flat, shape[:depth]), -1).astype(np.int64)
    updates = d.like(label, (n, *shape[depth:]))
    d.one(op, [x, d.given(indices), updates], reduction=way)


@family("TensorScatter", weight=0.7)
def _(d: Draft, op: str) -> None:
    b, h, n, size, m = (d.chance.choice((1, 2, 3)) for _ in range(5))
    past = d.like("f32", (b, h, n + m, size))
    update = d.like("f32", (b, h, m, size))
    mode = d.chance.choice((None, "linear", "circular"))
    at = d.given(np.asarray([d.chance.randint(0, n) for _ in range(b)], np.int64))
    d.one(op, [past, update, at], axis=d.chance.choice((None, 2, -2)), mode=mode)


@family("TopK", weight=1.5)
def _(d: Draft, op: str) -> None:
    x = d.tensor((*FLOATS, "i64", "i32", "u8"), (1, 4))
    axis = d.axis(len(d.shape(x)))
    k = d.numbers([d.chance.randint(0, d.shape(x)[axis])])
    d.node(op, [x, k], 2, axis=axis, largest=d.chance.choice((None, 0, 1)))


@family("NonZero")
def _(d: Draft, op: str) -> None:
    d.one(op, [d.tensor(("f32", "bool", "i32", "i64", "u8"), (1, 4))])


@family("Compress")
def _(d: Draft, op: str) -> None:
    x = d.tensor(TENSORS, (1, 4))
    axis = d.axis(len(d.shape(x))) if d.maybe(0.7) else None
    size = int(np.prod(d.shape(x))) if axis is None else d.shape(x)[axis]
    d.one(op, [x, d.like("bool", (d.chance.randint(0, size),))], axis=axis)


@family("Unique")
def _(d: Draft, op: str) -> None:
    x = d.tensor(("f32", "f64", "i64", "i8", "str"), (1, 3), lambda v: v.size > 0)
    if d.label(x) in FLOATS:  # rounding would decide whether computed numbers are equal
        x = d.one("Round", [x])
    axis = d.axis(len(d.shape(x))) if d.maybe() else None
    d.node(op, [x], d.chance.choice((1, 2, 4)), axis=axis, sorted=d.chance.choice((None, 0, 1)))


@family("NonMaxSuppression", weight=0.7)
def _(d: Draft, op: str) -> None:
    n = d.chance.choice((1, 3, 9))
    numbers = np.random.default_rng(d.chance.getrandbits(32))
    corner = numbers.uniform(0, 5, (1, n, 2))
    boxes = np.concatenate([corner, corner + numbers.uniform(0.5, 3, (1, n, 2))], -1)
    scores = numbers.permutation(n * 2).reshape(1, 2, n) / (2.0 * n)
    tail = [d.numbers([d.chance.randint(0, 4)])]
    tail += [d.constant(np.asarray([v], np.float32)) for v in (0.5, 0.3)][: d.chance.randint(0, 2)]
    given = [d.given(v.astype(np.float32)) for v in (boxes, scores)]
    d.one(op, [*given, *tail], center_point_box=d.chance.choice((None, 0, 1)))


__all__ = ["INTEGERS", "places"]
