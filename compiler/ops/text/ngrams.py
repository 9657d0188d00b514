"""Counts of the n-grams in a list."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering, RoutineBuilder
from compiler.compute.scalar import Scalar
from compiler.errors import require
from compiler.ir.affine import Expr
from compiler.ir.operator import Array, Cost, OnnxCall, Operand, Tensor, op, standard
from compiler.ir.types import DType, TensorType
from compiler.ops.data_movement.positions import from_front, require_positions
from compiler.ops.type_rules.requirements import (
    require_elements,
    require_rank,
    require_size,
    traffic,
)

CRITERIA = ("TF", "IDF", "TFIDF")

Ints = tuple[int, ...]


@op(kind="opaque", exact=False)
def count_ngrams(
    x: Tensor,
    pool: Tensor,
    columns: Tensor,
    weights: Tensor | None = None,
    *,
    n_columns: int,
    starts: tuple[int, ...],
    lengths: tuple[int, int],
    most_skipped: int = 0,
    criterion: str = "TF",
) -> TensorType:
    """Count, in each row, the occurrences of each listed n-gram; each n-gram has a column.

    `pool` lists the n-grams of length 1, then of length 2 and so on; n-grams of length i+1 begin at
    starts[i]. N-grams of lengths lengths[0] to lengths[1] are counted; up to `most_skipped`
    elements may be skipped between adjacent elements of an n-gram. With IDF, an n-gram counts at
    most once. With IDF and TFIDF, counts are multiplied by the weights of the columns.
    Shapes: x [C] or [B, C], `columns` has one number per n-gram, the result [n_columns] or [B,
    n_columns], in f32.
    Errors: E-OP-SHAPE, E-OP-DTYPE, E-OP-ATTRIBUTE.
    Source: ONNX TfIdfVectorizer-9.
    """
    require_elements("count_ngrams", "integer", x)
    require_elements("count_ngrams", "integer", pool)
    require(x.dtype is pool.dtype, "E-OP-DTYPE", f"cannot compare {x.dtype} and {pool.dtype}")
    require_rank("count_ngrams", x, [1, 2])
    known = criterion in CRITERIA and most_skipped >= 0 and 1 <= lengths[0] <= lengths[1]
    message = f"invalid n-grams: lengths {lengths}, {most_skipped} skips, criterion {criterion!r}"
    require(known, "E-OP-ATTRIBUTE", message)
    require_positions("count_ngrams", columns, "the columns")
    ngrams = sum(len(group) for group in _ngrams(starts, pool.shape[0]))
    require_size("count_ngrams", "columns", columns.shape[0], ngrams)
    if weights is not None:
        require_elements("count_ngrams", "float", weights)
        require_rank("count_ngrams", weights, [1], "weights")
        require_size("count_ngrams", "weights", weights.shape[0], n_columns)
    return TensorType(DType.f32, (*x.shape[:-1], n_columns))


def _ngrams(starts: Ints, size: Any) -> Iterator[range]:
    """Yield the list positions of the n-grams of length 1, then of length 2, and so on.

    Errors: E-OP-ATTRIBUTE.
    """
    ends = (*starts[1:], size)
    for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
        fits = isinstance(end, int) and 0 <= start <= end and (end - start) % (i + 1) == 0
        message = f"the pool from {start} to {end} does not divide into n-grams of length {i + 1}"
        require(fits, "E-OP-ATTRIBUTE", message)
        yield range(start, end, i + 1)


def _steps(length: int, lengths: tuple[int, int], most_skipped: int) -> range:
    """Return the possible distances between adjacent elements of an n-gram; none for length 1."""
    if not lengths[0] <= length <= lengths[1]:
        return range(0)
    return range(1, 2 if length == 1 else most_skipped + 2)


@count_ngrams.reference
def _(
    x: Array,
    pool: Array,
    columns: Array,
    weights: Array | None = None,
    *,
    n_columns: int,
    starts: Ints,
    lengths: tuple[int, int],
    most_skipped: int,
    criterion: str,
) -> Array:
    rows = x.reshape(-1, x.shape[-1])
    counts = np.zeros((len(rows), n_columns), np.float32)
    column = iter(columns.tolist())
    for length, group in enumerate(_ngrams(starts, len(pool)), start=1):
        for at in group:
            c = next(column)
            for step in _steps(length, lengths, most_skipped):
                n = x.shape[-1] - (length - 1) * step
                for b, i in itertools.product(range(len(rows)), range(n)):
                    found = rows[b, i : i + (length - 1) * step + 1 : step]
                    counts[b, c] += np.array_equal(found, pool[at : at + length])
    if criterion == "IDF":
        counts = (counts > 0).astype(np.float32)
    if criterion != "TF" and weights is not None:
        counts = counts * weights.astype(np.float32)
    return counts.reshape(*x.shape[:-1], -1)


@count_ngrams.cost
def _(
    x: TensorType,
    pool: TensorType,
    columns: TensorType,
    weights: TensorType | None = None,
    *,
    out: TensorType,
    **_: Any,
) -> Cost:
    return traffic([x, pool, columns, weights], out, x.n_elements * pool.n_elements)


@count_ngrams.lower
def _(
    k: Lowering,
    x: Handle,
    pool: Handle,
    columns: Handle,
    weights: Handle | None,
    out: Handle,
    *,
    n_columns: int,
    starts: Ints,
    lengths: tuple[int, int],
    most_skipped: int,
    criterion: str,
) -> None:
    index = k.axes(out.shape)
    counts = k.temporary(out.shape, DType.f32, "counts")
    k.assign(counts[index], k.number(0.0, DType.f32))
    n_before = 0
    with k.routine() as r, r.loops(x.shape[:-1]) as row:
        for length, group in enumerate(_ngrams(starts, pool.shape[0]), start=1):
            for step in _steps(length, lengths, most_skipped):
                with r.loop(len(group), "g") as g:
                    ngram = [pool[g * length + group.start + j] for j in range(length)]
                    column = from_front(k, columns[g + n_before], n_columns)
                    _count(k, r, x, row, ngram, step, counts.at(*row, column))
            n_before += len(group)
    index = k.axes(out.shape)
    value: Scalar = counts[index]
    if criterion == "IDF":
        value = k.convert(k.gt(value, 0.0), DType.f32)
    if criterion != "TF" and weights is not None:
        value = value * k.convert(weights[index[-1]], DType.f32)
    k.assign(out[index], value)


def _count(
    k: Lowering,
    r: RoutineBuilder,
    x: Handle,
    row: Sequence[Expr],
    ngram: Sequence[Scalar],
    step: int,
    target: Any,
) -> None:
    n = x.shape[-1] - (len(ngram) - 1) * step
    with r.loop(n, "p") as p:
        hit: Scalar | None = None
        for j, number in enumerate(ngram):
            same = k.eq(x[*row, p + j * step], number)
            hit = same if hit is None else k.apply("and", hit, same)
        assert hit is not None
        r.store(target, target + k.convert(hit, DType.f32))


@count_ngrams.onnx("TfIdfVectorizer")
def _(n: OnnxCall) -> Operand | None:
    """Import TfIdfVectorizer; nodes on strings or without one weight per column stay foreign."""
    x, pool = n.operand(0), n.attr("pool_int64s")
    starts, columns = tuple(n.attr("ngram_counts") or ()), tuple(n.attr("ngram_indexes") or ())
    if x is None or x.type.shape is None or not pool or not starts or not columns:
        return None
    bounds = np.iinfo(x.dtype.numpy) if x.dtype.is_integer else None
    if bounds is None or min(pool) < bounds.min or max(pool) > bounds.max:
        return None
    weights = n.attr("weights")
    if weights and len(weights) != max(columns) + 1:
        return None
    return count_ngrams(
        x,
        np.array(pool, x.dtype.numpy),
        np.array(columns),
        np.array(weights, np.float32) if weights else None,
        n_columns=max(columns) + 1,
        starts=starts,
        lengths=(n.attr("min_gram_length"), n.attr("max_gram_length")),
        most_skipped=n.attr("max_skip_count"),
        criterion=n.attr("mode"),
    )


@count_ngrams.export
def _(
    x: Tensor,
    pool: Tensor,
    columns: Tensor,
    weights: Tensor | None = None,
    *,
    n_columns: int,
    starts: tuple[int, ...],
    lengths: tuple[int, int],
    most_skipped: int,
    criterion: str,
) -> Operand | None:
    if pool.value is None or columns.value is None or (weights and weights.value is None):
        return None
    if n_columns != int(columns.known.max()) + 1:
        return None
    return standard(
        "TfIdfVectorizer",
        x,
        min_gram_length=lengths[0],
        max_gram_length=lengths[1],
        max_skip_count=most_skipped,
        mode=criterion,
        ngram_counts=starts,
        ngram_indexes=columns.known.tolist(),
        pool_int64s=pool.known.tolist(),
        weights=None if weights is None else weights.known.tolist(),
    )


@count_ngrams.samples
def _() -> Iterator[tuple[Any, ...]]:
    x = np.array([[1, 2, 3, 1, 2], [2, 2, 1, 3, 9]])
    pool = np.array([1, 2, 1, 2, 2, 1, 2, 3, 1, 2, 3])
    columns = np.array([5, 0, 2, 1, 3, 4])
    attrs: dict[str, Any] = {"n_columns": 6, "starts": (0, 2, 8), "lengths": (1, 3)}
    yield [x, pool, columns], attrs
    yield [x, pool, columns], {**attrs, "most_skipped": 2, "lengths": (2, 3)}
    weights = np.array([0.5, 2, -1, 3, 1, 7], np.float32)
    yield [x, pool, columns, weights], {**attrs, "criterion": "IDF", "most_skipped": 1}
    short = [a.astype(np.int32) for a in (x[0], pool, columns)]
    yield [*short, weights], {**attrs, "criterion": "TFIDF"}
