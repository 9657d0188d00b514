"""Views and data movement (reshape, transpose, concat, slice, pad), and shape computations."""

from __future__ import annotations

import math

import numpy as np

from tests.outside.draft import Draft, Dropped
from tests.outside.families.elementwise import broadcast_partner
from tests.outside.family import family
from tests.outside.values import FLOATS, INTEGERS, TENSORS, code, numpy_type, some_array

ANY = (*TENSORS, "str")


@family("Reshape", weight=3)
def _(d: Draft, op: str) -> None:
    """With -1, with 0, and with the shape of another value."""
    x = d.tensor(ANY)
    shape = d.shape(x)
    size = math.prod(shape)
    if d.maybe(0.15) and (other := d.found(lambda v: v.size == size, TENSORS)):
        d.one(op, [x, d.one("Shape", [other])], allowzero=1 if size == 0 else None)
        return
    target = list(factored(d, size)) if size else list(d.chance.sample(shape, len(shape)))
    allow = 1 if size == 0 else d.chance.choice((None, 0, 1))
    if target and size and d.maybe(0.4):
        target[d.chance.randrange(len(target))] = -1
    if target and not allow and d.maybe(0.2) and shape and -1 not in target[:1]:
        if target[0] == shape[0]:
            target[0] = 0
    d.one(op, [x, d.numbers(target)], allowzero=allow)


def factored(d: Draft, size: int) -> tuple[int, ...]:
    """Return sizes with this product."""
    made: list[int] = []
    while size > 1 and len(made) < 4 and d.maybe(0.7):
        divisors = [k for k in range(1, min(size, 200) + 1) if size % k == 0]
        made.append(d.chance.choice(divisors))
        size //= made[-1]
    made += [size] if size != 1 or d.maybe(0.3) else []
    made += [1] if d.maybe(0.15) else []
    d.chance.shuffle(made)
    return tuple(made)


@family("Flatten")
def _(d: Draft, op: str) -> None:
    x = d.tensor(TENSORS)
    rank = len(d.shape(x))
    d.one(op, [x], axis=d.chance.randint(-rank, rank))


@family("Transpose", weight=3)
def _(d: Draft, op: str) -> None:
    x = d.tensor(ANY)
    order = list(range(len(d.shape(x))))
    d.chance.shuffle(order)
    d.one(op, [x], perm=None if d.maybe(0.2) else order)


@family("Squeeze", weight=1.5)
def _(d: Draft, op: str) -> None:
    x = d.tensor(ANY, (1, 5), lambda v: 1 in v.shape)
    shape = d.shape(x)
    ones = [i for i, n in enumerate(shape) if n == 1]
    some = d.chance.sample(ones, d.chance.randint(1, len(ones)))
    axes = [a - len(shape) if d.maybe() else a for a in some]
    d.one(op, [x] if d.maybe(0.2) else [x, d.numbers(axes)])


@family("Unsqueeze", weight=1.5)
def _(d: Draft, op: str) -> None:
    x = d.tensor(ANY, (0, 4))
    rank = len(d.shape(x)) + (n := d.chance.choice((1, 1, 2)))
    axes = [a - rank if d.maybe() else a for a in d.chance.sample(range(rank), n)]
    d.one(op, [x, d.numbers(axes)])


@family("Expand", weight=1.5)
def _(d: Draft, op: str) -> None:
    x = d.tensor(ANY)
    target = [n if n != 1 or d.maybe(0.3) else d.chance.choice((1, 2, 3, 5)) for n in d.shape(x)]
    target = [d.chance.choice((1, 2, 3)) for _ in range(d.chance.choice((0, 0, 1)))] + target
    target = [1 if d.maybe(0.2) else n for n in target]
    d.one(op, [x, d.numbers(target[d.chance.choice((0, 0, 0, 1)) :])])


@family("Concat", weight=2.5)
def _(d: Draft, op: str) -> None:
    """Some operands may be empty along the axis, and one may occur twice."""
    x = d.tensor(ANY, (1, 5))
    shape, label = list(d.shape(x)), d.label(x)
    axis = d.chance.randrange(len(shape))

    def fits(v: np.ndarray) -> bool:
        return v.ndim == len(shape) and all(
            a == b for i, (a, b) in enumerate(zip(v.shape, shape, strict=True)) if i != axis
        )

    parts = [x]
    for _ in range(d.chance.choice((0, 1, 1, 1, 2, 3))):
        other = d.found(fits, (label,))
        if not other or d.maybe(0.4):
            other = d.like(
                label, [*shape[:axis], d.chance.choice((0, 1, 2, 3, 5)), *shape[axis + 1 :]]
            )
        parts.insert(d.chance.randint(0, len(parts)), other)
    d.one(op, parts, axis=axis if d.maybe() else axis - len(shape))


@family("Split", weight=2)
def _(d: Draft, op: str) -> None:
    x = d.tensor(ANY, (1, 5))
    axis = d.axis(len(d.shape(x)))
    size, n = d.shape(x)[axis], d.chance.choice((1, 2, 2, 3))
    if d.maybe(0.3) and size >= n:
        d.node(op, [x], n, axis=axis, num_outputs=n)
        return
    cuts = sorted(d.chance.randint(0, size) for _ in range(n - 1))
    sizes = [b - a for a, b in zip([0, *cuts], [*cuts, size], strict=True)]
    d.node(op, [x, d.numbers(sizes)], n, axis=axis)


@family("Slice", weight=3)
def _(d: Draft, op: str) -> None:
    """Also negative steps, bounds beyond both ends, and empty results."""
    x = d.tensor(ANY, (1, 5))
    shape = d.shape(x)
    axes = d.axes(len(shape), 1)
    starts, ends, steps = [], [], []
    for a in axes:
        n = shape[a]
        step = d.chance.choice((1, 1, 1, 2, 3, -1, -1, -2))
        low, high = sorted(d.chance.randint(0, n) for _ in range(2))
        if d.maybe(0.75) and low == high:
            low, high = 0, n
        first, last = (low, high) if step > 0 else (high - 1, low - 1)
        if step < 0 and last < 0:
            last = -n - d.chance.choice((1, 7, 1 << 40))
        if d.maybe(0.3) and 0 <= first < n:
            first -= n
        if d.maybe(0.2) and step > 0 and last == n:
            last = d.chance.choice((n + 3, (1 << 63) - 1))
        starts.append(first)
        ends.append(last)
        steps.append(step)
    label = d.chance.choice(("i64", "i64", "i32"))
    clip = (1 << 31) - 1 if label == "i32" else (1 << 63) - 1
    ends = [max(-clip, min(clip, e)) for e in ends]
    lists = [starts, ends, axes, steps]
    if axes == list(range(len(axes))) and all(s == 1 for s in steps) and d.maybe():
        lists = lists[:2]
    d.one(op, [x, *(d.numbers(v, label) for v in lists)])


@family("Pad", weight=2)
def _(d: Draft, op: str) -> None:
    """All modes; negative pads; axes as an operand."""
    x = d.tensor((*FLOATS, *INTEGERS, "bool"), (1, 5))
    shape, mode = d.shape(x), d.chance.choice(("constant", "constant", "edge", "reflect", "wrap"))
    axes = d.axes(len(shape), 1) if d.maybe(0.3) else list(range(len(shape)))
    if mode != "constant" and 0 in shape:
        raise Dropped
    low, high = [], []
    for a in axes:
        most = 3 if mode in ("constant", "edge") else min(3, shape[a] - 1)
        low.append(d.chance.randint(0, most) if d.maybe(0.6) else 0)
        high.append(d.chance.randint(0, most) if d.maybe(0.6) else 0)
        if mode == "constant" and d.maybe(0.1) and shape[a] > 2:
            low[-1] = -1
    tail: list[str] = []
    if mode == "constant" and d.maybe(0.6):
        tail = [d.constant(np.asarray(1, numpy_type(d.label(x))))]
    if axes != list(range(len(shape))):
        tail = [*(tail or [""]), d.numbers(axes)]
    d.one(op, [x, d.numbers([*low, *high]), *tail], mode=None if mode == "constant" else mode)


@family("Tile")
def _(d: Draft, op: str) -> None:
    x = d.tensor(TENSORS)
    d.one(op, [x, d.numbers([d.chance.choice((1, 1, 2, 3, 0)) for _ in d.shape(x)])])


@family("DepthToSpace", "SpaceToDepth")
def _(d: Draft, op: str) -> None:
    b, label = d.chance.choice((1, 2, 3)), d.some_label(("f32", "f64", "f16", "u8"))
    c, h, w = (d.chance.choice((1, 2, 3, 5)) for _ in range(3))
    if op == "DepthToSpace":
        x = d.like(label, (d.chance.choice((1, 2)), c * b * b, h, w))
        d.one(op, [x], blocksize=b, mode=d.chance.choice((None, "DCR", "CRD")))
    else:
        d.one(op, [d.like(label, (d.chance.choice((1, 2)), c, h * b, w * b))], blocksize=b)


@family("CenterCropPad")
def _(d: Draft, op: str) -> None:
    x = d.tensor(("f32", "i64"), (1, 4))
    axes = d.axes(len(d.shape(x)), 1)
    sizes = d.numbers([d.chance.choice((1, 2, 3, 5, 8)) for _ in axes])
    d.one(op, [x, sizes], axes=axes)


@family("Shape", weight=1.5)
def _(d: Draft, op: str) -> None:
    x = d.tensor(ANY)
    rank = len(d.shape(x))
    start = d.chance.choice((None, None, d.chance.randint(-rank - 1, rank + 1)))
    d.one(
        op, [x], start=start, end=d.chance.choice((None, None, d.chance.randint(-rank, rank + 1)))
    )


@family("Size", weight=0.7)
def _(d: Draft, op: str) -> None:
    d.one(op, [d.tensor(ANY)])


@family("ConstantOfShape")
def _(d: Draft, op: str) -> None:
    label = d.some_label((*TENSORS,))
    value = some_array(d.chance, label, (1,)) if d.maybe(0.8) else None
    if d.maybe() and (x := d.found(lambda v: v.ndim < 5, TENSORS)):
        d.one(op, [d.one("Shape", [x])], value=value)
        return
    shape = [d.chance.choice((0, 1, 2, 3, 5, 17)) for _ in range(d.chance.randint(0, 3))]
    d.one(op, [d.numbers(shape)], value=value)


@family("Constant", weight=0.4)
def _(d: Draft, op: str) -> None:
    name = d.constant(some_array(d.chance, d.some_label(TENSORS), (d.chance.choice((1, 3)),)))
    d.one("Identity", [name])


@family("Range", weight=0.7)
def _(d: Draft, op: str) -> None:
    """Also negative steps and empty ranges; steps of floats are exact."""
    label = d.some_label(("f32", "f64", "i16", "i32", "i64"))
    start, step = d.chance.randint(-4, 4), d.chance.choice((1, 1, 2, -1, -3))
    stop = start + d.chance.randint(-2, 12) * (1 if step > 0 else -1)
    d.one(op, [d.numbers(v, label) for v in (start, stop, step)])


@family("EyeLike")
def _(d: Draft, op: str) -> None:
    x = d.tensor(("f32", "f64", "i32", "i64", "u64"), (2, 2))
    k = d.chance.choice((None, 0, 1, -2))
    d.one(op, [x], k=k, dtype=d.chance.choice((None, code("f32"), code("i64"))))


@family("Trilu")
def _(d: Draft, op: str) -> None:
    x = d.tensor(("f32", "f64", "i64", "bool"), (2, 5))
    k = [d.numbers(d.chance.randint(-3, 3))] if d.maybe(0.7) else []
    d.one(op, [x, *k], upper=d.chance.choice((None, 0, 1)))


@family("ReverseSequence")
def _(d: Draft, op: str) -> None:
    x = d.tensor(TENSORS, (2, 4), lambda v: v.size > 0)
    time = d.chance.choice((0, 1))
    n_time, n_batch = d.shape(x)[time], d.shape(x)[1 - time]
    lengths = d.numbers([d.chance.randint(1, n_time) for _ in range(n_batch)])
    d.one(op, [x, lengths], time_axis=time, batch_axis=1 - time)


@family("OneHot")
def _(d: Draft, op: str) -> None:
    """Indices out of range give rows without a one."""
    depth = d.chance.choice((1, 3, 7))
    n, label = d.chance.choice((1, 4, 17)), d.chance.choice(("i64", "i32", "f32"))
    indices = np.asarray([d.chance.randint(-depth - 1, depth) for _ in range(n)], numpy_type(label))
    shape = (n,) if d.maybe() else (1, n)
    values = d.constant(some_array(d.chance, d.some_label(("f32", "i64", "i32")), (2,)))
    operands = [d.given(indices.reshape(shape)), d.numbers(depth), values]
    d.one(op, operands, axis=d.chance.choice((None, 0, -1, -2)))


@family("AffineGrid", weight=0.7)
def _(d: Draft, op: str) -> None:
    rank = d.chance.choice((2, 2, 3))
    size = [d.chance.choice((1, 2, 3, 5)) for _ in range(rank + 2)]
    theta = d.like(d.some_label(("f32", "f64")), (size[0], rank, rank + 1))
    ends = (None, 0) if 1 in size[2:] else (None, 0, 1)  # a single point is at neither end
    d.one(op, [theta, d.numbers(size)], align_corners=d.chance.choice(ends))


__all__ = ["broadcast_partner", "factored"]
