"""Non-maximum suppression of boxes in images."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering, RoutineBuilder
from compiler.compute.scalar import Read, Scalar
from compiler.errors import require
from compiler.ir import affine
from compiler.ir.operator import Array, Cost, OnnxCall, Operand, Tensor, op, standard
from compiler.ir.types import Dim, DType, TensorType
from compiler.ops.ordering.routines import Heap, order
from compiler.ops.ordering.selections import filled_up, leading
from compiler.ops.type_rules.dims import settle
from compiler.ops.type_rules.requirements import (
    require_elements,
    require_rank,
    require_size,
    traffic,
)


@op(kind="opaque", bounded=False)
def kept_boxes(
    boxes: Tensor,
    scores: Tensor,
    most: Tensor,
    overlap: Tensor | None = None,
    threshold: Tensor | None = None,
    *,
    centered: bool = False,
) -> tuple[TensorType, TensorType]:
    """Non-maximum suppression: drop the boxes of a class that overlap a box with a higher score.

    At most `most` boxes per class are selected, in order of descending score; the scores of
    selected boxes exceed `threshold`. Two boxes overlap if their intersection over union exceeds
    `overlap` (default 0).
    Shapes: boxes [N, B, 4] as two corners (y, x, y, x), or with `centered` as (x, y, width,
    height); scores [N, C, B]. The first result has rows (image, class, box), padded with zeros up
    to the maximum number. The second result is the number of selected boxes.
    Errors: E-OP-SHAPE, E-OP-DTYPE.
    Source: ONNX NonMaxSuppression-11.
    """
    dtype = require_elements("kept_boxes", "float", boxes, scores, overlap, threshold)
    require(dtype is DType.f32, "E-OP-DTYPE", f"kept_boxes takes f32, got {boxes.type}")
    require(
        most.dtype is DType.i64,
        "E-OP-DTYPE",
        f"the number of boxes must be an i64, got {most.type}",
    )
    require_rank("kept_boxes", boxes, [3], "boxes")
    require_rank("kept_boxes", scores, [3], "scores")
    require_size("kept_boxes", "axis 2 of the boxes", boxes.shape[2], 4)
    require_size("kept_boxes", "axis 0 of the scores", scores.shape[0], boxes.shape[0])
    require_size("kept_boxes", "axis 2 of the scores", scores.shape[2], boxes.shape[1])
    each: Dim = scores.shape[2]
    if most.value is not None and most.value.size == 1:
        each = settle(affine.minimum(each, max(int(most.known.reshape(-1)[0]), 0)))
    room = scores.shape[0] * scores.shape[1] * each
    return TensorType(DType.i64, (room, 3)), TensorType(DType.i64, ())


# The reference in numpy


@kept_boxes.reference
def _(
    boxes: Array,
    scores: Array,
    most: Array,
    overlap: Array | None = None,
    threshold: Array | None = None,
    *,
    centered: bool,
) -> tuple[Array, Array]:
    n_most = max(int(most.reshape(-1)[0]), 0)
    limit = np.float32(0) if overlap is None else overlap.reshape(-1)[0]
    found: list[tuple[int, int, int]] = []
    low, high = _ends(boxes, centered)
    for n, c in np.ndindex(*scores.shape[:2]):
        ranked = np.argsort(-scores[n, c], kind="stable")
        if threshold is not None:
            ranked = ranked[scores[n, c, ranked] > threshold.reshape(-1)[0]]
        kept: list[int] = []
        for b in ranked.tolist():
            if len(kept) < n_most and not any(
                _share(low[n, [b, a]], high[n, [b, a]]) > limit for a in kept
            ):
                kept.append(b)
        found += [(n, c, b) for b in kept]
    room = scores.shape[0] * scores.shape[1] * min(scores.shape[2], n_most)
    rows = np.zeros((room, 3), np.int64)
    rows[: len(found)] = np.array(found, np.int64).reshape(-1, 3)
    return rows, np.array(len(found), np.int64)


def _ends(boxes: Array, centered: bool) -> tuple[Array, Array]:
    """Return the smallest and largest coordinates of each box."""
    first, second = boxes[..., :2], boxes[..., 2:]
    if centered:
        return first - second / 2, first + second / 2
    return np.minimum(first, second), np.maximum(first, second)


def _share(low: Array, high: Array) -> Any:
    """Return the intersection over union of two boxes; a negative number for boxes without area."""
    sides = np.min(high, axis=0) - np.max(low, axis=0)
    if np.any(sides <= 0):
        return -np.inf
    shared = sides[0] * sides[1]
    areas = np.prod(high - low, axis=1)
    union = areas[0] + areas[1] - shared
    return shared / union if shared > 0 and np.all(areas > 0) and union > 0 else -np.inf


@kept_boxes.cost
def _(
    boxes: TensorType,
    scores: TensorType,
    most: TensorType,
    overlap: TensorType | None = None,
    threshold: TensorType | None = None,
    *,
    out: tuple[TensorType, ...],
    centered: bool,
) -> Cost:
    operands = [boxes, scores, most, overlap, threshold]
    return traffic(operands, out, 16 * scores.n_elements)


# The lowering


@kept_boxes.lower
def _(
    k: Lowering,
    boxes: Handle,
    scores: Handle,
    most: Handle,
    overlap: Handle | None,
    threshold: Handle | None,
    rows: Handle,
    count: Handle,
    *,
    centered: bool,
) -> None:
    index = k.axes(rows.shape)
    k.assign(rows[index], k.number(0, DType.i64))
    ends = _stored_ends(k, boxes, centered)
    n_boxes, total = scores.shape[2], count[()]
    n_most = most[(0,) * most.rank]
    limit = k.number(0.0, DType.f32) if overlap is None else overlap[(0,) * overlap.rank]
    with k.routine() as r:
        ranked = Heap.of(k, r, n_boxes, scores.dtype, order(k, scores.dtype, descending=True))
        kept = k.temporary((n_boxes,), DType.i64, "kept")
        n_kept, box, free = (r.cell(DType.i64, name) for name in ("n", "box", "free"))
        r.store(total, 0)
        with r.loops(scores.shape[:2], "nc") as (n, c):
            ranked.clear()
            with r.loop(n_boxes, "b") as b:
                score = scores[n, c, b]
                counts: Scalar = k.number(True, DType.bool)
                if threshold is not None:
                    counts = k.gt(score, threshold[(0,) * threshold.rank])
                with r.when(counts):
                    ranked.push(score, k.index(b))
            r.store(n_kept, 0)
            with r.repeat(k.apply("and", k.gt(ranked.count, 0), k.lt(n_kept, n_most))):
                r.store(box, ranked.number)
                ranked.pop()
                r.store(free, 1)
                _compare(k, r, ends, n, box, kept, n_kept, free, limit)
                with r.when(k.gt(free, 0)):
                    r.store(kept.at(n_kept), box)
                    r.store(n_kept, n_kept + 1)
                    for d, part in enumerate((k.index(n), k.index(c), box)):
                        r.store(rows.at(total, d), part)
                    r.store(total, total + 1)


def _stored_ends(k: Lowering, boxes: Handle, centered: bool) -> Handle:
    """Emit the stages that store the smallest coordinates of each box, then the largest."""
    ends = k.temporary(boxes.shape, boxes.dtype, "ends")
    for d in range(2):
        n, b = k.axes(boxes.shape[:2], "nb")
        first, second = boxes[n, b, d], boxes[n, b, d + 2]
        low = first - second / 2.0 if centered else k.min(first, second)
        k.assign(ends[n, b, d], low)
        n, b = k.axes(boxes.shape[:2], "nb")
        first, second = boxes[n, b, d], boxes[n, b, d + 2]
        high = first + second / 2.0 if centered else k.max(first, second)
        k.assign(ends[n, b, d + 2], high)
    return ends


def _compare(
    k: Lowering,
    r: RoutineBuilder,
    ends: Handle,
    n: Any,
    box: Scalar,
    kept: Handle,
    n_kept: Read,
    free: Read,
    limit: Scalar,
) -> None:
    """Emit code that sets `free` to 0 if a selected box overlaps this box."""
    j = r.cell(DType.i64, "j")
    r.store(j, 0)
    with r.repeat(k.apply("and", k.lt(j, n_kept), k.gt(free, 0))):
        both = [[ends.at(n, b, d) for d in range(4)] for b in (box, kept.at(j))]
        sides = [
            k.min(both[0][d + 2], both[1][d + 2]) - k.max(both[0][d], both[1][d]) for d in range(2)
        ]
        areas = [(e[2] - e[0]) * (e[3] - e[1]) for e in both]
        shared = sides[0] * sides[1]
        union = areas[0] + areas[1] - shared
        hit: Scalar = k.gt(shared / union, limit)
        for positive in (*sides, shared, *areas, union):
            hit = k.apply("and", hit, k.gt(positive, 0.0))
        with r.when(hit):
            r.store(free, 0)
        r.store(j, j + 1)


@kept_boxes.onnx("NonMaxSuppression")
def _(n: OnnxCall) -> Operand | None:
    """Import NonMaxSuppression; if the number of boxes is omitted, no box is selected."""
    boxes, scores = n.operand(0), n.operand(1)
    if boxes is None or scores is None or boxes.type.shape is None or scores.type.shape is None:
        return None
    most = n.operand(2)
    found = kept_boxes(
        boxes,
        scores,
        np.array([0], np.int64) if most is None else most,
        n.operand(3),
        n.operand(4),
        centered=bool(n.attr("center_point_box", 0)),
    )
    return leading(found.out(0), found.out(1))


@kept_boxes.export
def _(
    boxes: Tensor,
    scores: Tensor,
    most: Tensor,
    overlap: Tensor | None = None,
    threshold: Tensor | None = None,
    *,
    centered: bool,
) -> tuple[Operand, ...]:
    """Export as NonMaxSuppression; its boxes are padded with zeros to the maximum number."""
    single = [None if t is None else _of_rank_one(t) for t in (most, overlap, threshold)]
    found = standard("NonMaxSuppression", boxes, scores, *single, center_point_box=centered)
    count = standard("Shape", found, start=0, end=1)
    lines = standard("ReduceProd", standard("Shape", scores, start=0, end=2), keepdims=True)
    each = standard("Min", standard("Shape", scores, start=2, end=3), single[0])
    room = standard("Mul", lines, standard("Max", each, np.array([0])))
    return filled_up(found, count, room, 2, 0), standard("Squeeze", count)


def _of_rank_one(x: Tensor) -> Operand:
    return x if x.type.shape == (1,) else standard("Reshape", x, np.array([1]))


@kept_boxes.samples
def _() -> Iterator[tuple[Any, ...]]:
    rng = np.random.default_rng(5)
    corners = rng.uniform(0, 3, (2, 9, 4)).astype(np.float32)
    scores = rng.integers(0, 5, (2, 2, 9)).astype(np.float32)
    share, least = np.array([0.2], np.float32), np.array([1.5], np.float32)
    yield [corners, scores, np.array([4]), share, least], {}
    yield [corners, scores, np.array([3]), share, None], {"centered": True}
    yield [corners, scores, np.array(20), None, np.array(0, np.float32)], {}
    yield [corners, scores, np.array([0]), share, least], {}
