"""Post-processing of classifier scores: transforms, a column for the second class, labels.

ONNX does not specify three cases: a single column of scores for two classes, ties, and transforms
of a single column. In these cases, the results follow ONNX Runtime.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.dataclass import dataclass
from compiler.errors import require
from compiler.ir.constant import Constant
from compiler.ir.operator import (
    Array,
    Call,
    Cost,
    OnnxCall,
    Operand,
    Standard,
    Tensor,
    as_tensor,
    op,
    standard,
)
from compiler.ir.types import DType, TensorType
from compiler.ops.data_movement.concat import concat
from compiler.ops.data_movement.gather import gather
from compiler.ops.data_movement.reshape import unsqueeze
from compiler.ops.elementwise.activations import sigmoid
from compiler.ops.elementwise.arithmetic import abs_, div, exp, mul, neg, sub
from compiler.ops.elementwise.cast import cast
from compiler.ops.elementwise.compare import greater, where
from compiler.ops.elementwise.table import unary
from compiler.ops.reductions.reduce import reduce_max, reduce_sum
from compiler.ops.reductions.softmax import softmax
from compiler.ops.type_rules.requirements import require_elements, require_rank, traffic

TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
"""The values of post_transform, at their positions in TreeEnsemble's encoding."""


# Transforms

_A = 0.147
_SHIFT = 2 / (3.14159 * _A)


def _probit(x: Any) -> Any:
    y = 2 * x - 1
    log = np.log((1 - y) * (1 + y))
    v = _SHIFT + 0.5 * log
    return math.sqrt(2) * np.sign(y) * np.sqrt(np.sqrt(v * v - log / _A) - v)


def _probit_scalar(k: Any, x: Any) -> Any:
    y = x * 2.0 - 1.0
    log = k.log((1.0 - y) * (y + 1.0))
    v = log * 0.5 + _SHIFT
    return k.sign(y) * k.sqrt(k.sqrt(v * v - log / _A) - v) * math.sqrt(2)


probit = unary(
    "probit",
    """The quantile function of the normal distribution, by Winitzki's approximation.

    The result is accurate to three digits, and is NaN or infinite outside (0, 1).
    Source: ONNX post_transform PROBIT as ONNX Runtime computes it; S. Winitzki, A handy
    approximation for the error function and its inverse, 2008.
    """,
    numpy=_probit,
    scalar=_probit_scalar,
    flops=12,
)


@probit.export
def _(x: Tensor) -> Operand | None:
    """Export as the formula; short floats are computed in f32."""
    if x.dtype.bits < 32:
        wide = standard("Cast", x, to=DType.f32)
        return standard("Cast", _quantile(wide, np.float32), to=x.dtype)
    return _quantile(x, x.dtype.numpy.type)


def _quantile(x: Operand, number: Any) -> Standard:
    y = standard("Sub", standard("Mul", x, number(2)), number(1))
    inside = standard("Mul", standard("Sub", number(1), y), standard("Add", number(1), y))
    log = standard("Log", inside)
    v = standard("Add", standard("Mul", log, number(0.5)), number(_SHIFT))
    square = standard("Sub", standard("Mul", v, v), standard("Div", log, number(_A)))
    root = standard("Sqrt", standard("Sub", standard("Sqrt", square), v))
    return standard("Mul", standard("Mul", standard("Sign", y), root), number(math.sqrt(2)))


NEXT_TO_ZERO = 1e-7


def like(x: Operand, value: float) -> Array:
    """Return a number as an array of the operand's element type."""
    t = as_tensor(x)
    assert t is not None
    return np.asarray(value, t.dtype.numpy)


def _softmax_zero(scores: Operand) -> Call:
    """Apply a softmax over the nonzero scores; zeros do not contribute to the sum."""
    top = reduce_max(scores, axes=(1,))
    counts = greater(abs_(scores), like(scores, NEXT_TO_ZERO))
    e = exp(sub(scores, top))
    total = reduce_sum(where(counts, e, like(scores, 0)), axes=(1,))
    return div(where(counts, e, mul(scores, exp(neg(top)))), total)


def transformed(scores: Operand, n_columns: int, transform: str) -> Operand:
    """Apply ONNX's post_transform to scores; a single column is transformed only by PROBIT.

    Errors: E-OP-ATTRIBUTE for an unknown transform.
    """
    require(
        transform in TRANSFORMS,
        "E-OP-ATTRIBUTE",
        f"unknown post_transform {transform!r:.40}",
    )
    if transform == "PROBIT":
        return probit(scores)
    if transform == "NONE" or n_columns == 1:
        return scores
    if transform == "SOFTMAX":
        return softmax(scores, axis=1)
    return sigmoid(scores) if transform == "LOGISTIC" else _softmax_zero(scores)


def with_opposite(score: Operand, transform: str, *, complement: bool) -> Operand:
    """Compute the scores of two classes from the score of the second class.

    The first column is 1 - score with `complement`, and -score without it. LOGISTIC transforms both
    columns. PROBIT transforms only the first column; the second column is the untransformed score.
    """
    if transform == "PROBIT":
        return concat(probit(score), score, axis=1)
    if transform == "LOGISTIC":
        return sigmoid(concat(neg(score), score, axis=1))
    return concat(sub(like(score, 1), score) if complement else neg(score), score, axis=1)


# Labels


@op(kind="reduction")
def class_of(scores: Tensor, labels: Tensor) -> TensorType:
    """The label of the largest score in each row; of equal scores, the first is selected.

    NaN in the first column counts as the largest score; NaN in another column is never chosen.
    Shapes: scores [N, C], labels [C]; the result is [N].
    Errors: E-OP-DTYPE, E-OP-SHAPE.
    """
    require_elements("class_of", "float", scores)
    require(
        labels.dtype is DType.i64,
        "E-OP-DTYPE",
        f"labels must be i64, got {labels.type}",
    )
    require_rank("class_of", scores, [2], "scores")
    require_rank("class_of", labels, [1], "labels")
    fits = all(isinstance(n, int) and n > 0 for n in (scores.shape[1], labels.shape[0]))
    require(
        not fits or scores.shape[1] == labels.shape[0],
        "E-OP-SHAPE",
        f"{scores.type} and {labels.type} differ in the number of classes",
    )
    require(scores.shape[1] != 0, "E-OP-SHAPE", "there is no class to choose")
    return TensorType(DType.i64, (scores.shape[0],))


@class_of.reference
def _(scores: Array, labels: Array) -> Array:
    best = np.zeros(len(scores), np.int64)
    rows = np.arange(len(scores))
    for c in range(scores.shape[1]):
        best = np.where(scores[:, c] > scores[rows, best], c, best)
    return labels[best]


@class_of.cost
def _(scores: TensorType, labels: TensorType, *, out: TensorType) -> Cost:
    return traffic([scores, labels], out, scores.n_elements)


@class_of.lower
def _(k: Lowering, scores: Handle, labels: Handle, out: Handle) -> None:
    with k.routine() as r:
        best = r.cell(DType.i64, "best")
        with r.loop(out.shape[0], "n") as n:
            r.store(best, 0)
            with r.loop(scores.shape[1], "c", start=1) as c:
                larger = k.gt(scores[n, c], scores.at(n, best))
                r.store(best, k.where(larger, k.index(c), best))
            r.store(out[n], labels.at(best))


@class_of.samples
def _() -> Iterator[tuple[Any, ...]]:
    labels = np.array([7, -3, 0, 5])
    ties = np.array([[1, 2, 2, 0], [np.nan, 3, 1, 2], [0, np.nan, 1, 1]], np.float32)
    yield ["f32[5,4]", labels], {}
    yield [ties, labels], {}
    yield ["f64[2,1]", labels[:1]], {}
    yield ["f32[0,4]", labels], {}


@class_of.export
def _(scores: Tensor, labels: Tensor) -> Operand | None:
    """Export with NaN replaced by a number above (first column) or below (others) all scores."""
    n_classes = scores.shape[1] if isinstance(scores.shape[1], int) else labels.shape[0]
    if not isinstance(n_classes, int):
        return None
    instead = np.full(n_classes, -np.inf, scores.dtype.numpy)
    instead[0] = np.inf
    plain = standard("Where", standard("IsNaN", scores), instead, scores)
    best = standard("ArgMax", plain, axis=1, keepdims=False)
    known = labels.value
    if known is not None and list(known) == list(range(n_classes)):
        return best
    return standard("Gather", labels, best)


@dataclass(frozen=True)
class Labels:
    """The labels of a classifier: integers or strings."""

    values: tuple[int | str, ...]

    @staticmethod
    def of(n: OnnxCall, ints: str, strings: str) -> Labels:
        """Read a node's labels from these attributes; string labels take precedence."""
        return Labels(tuple(n.attr(strings) or n.attr(ints) or ()))

    @property
    def are_words(self) -> bool:
        """Whether the labels are strings, which generated code does not support."""
        return bool(self.values) and isinstance(self.values[0], str)

    def at(self, positions: Operand) -> Operand:
        """Look up the labels at these positions."""
        if self.values == tuple(range(len(self.values))):
            return positions
        return gather(self._table(), positions)

    def best(self, scores: Operand) -> Operand:
        """Return the label of the largest score in each row."""
        if self.are_words:
            return self.at(class_of(scores, np.arange(len(self.values))))
        return class_of(scores, self._table())

    def second_where(self, holds: Operand) -> Operand:
        """Select, for each row, the second of two labels if a condition holds, else the first."""
        first, second = (0, 1) if self.are_words else self.values
        chosen = where(holds, np.asarray(second, np.int64), np.asarray(first, np.int64))
        return gather(self._table(), chosen) if self.are_words else chosen

    def _table(self) -> Array:
        return np.array(self.values, np.object_ if self.are_words else np.int64)


def rows_of(x: Tensor, dtype: DType | None = None) -> Operand:
    """Reshape x to rows of features (a vector is one row), and optionally convert the elements."""
    made: Operand = x if x.rank != 1 else unsqueeze(x, axes=(0,))
    return made if dtype is None or x.dtype is dtype else cast(made, to=dtype)


def has_rows(x: Tensor | None) -> bool:
    """Return whether an operand is known to have rank 1 or 2."""
    return x is not None and x.type.shape is not None and x.rank in (1, 2)


def flat(c: Constant, dtype: np.dtype[Any]) -> Array:
    """Return the elements of a tensor attribute, in order. Errors: E-OP-ATTRIBUTE for strings."""
    words = c.type.dtype is DType.string
    fits = words == (dtype == np.object_)
    require(fits, "E-OP-ATTRIBUTE", f"an attribute must have elements of {dtype}, got {c.type}")
    return c.array().reshape(-1).astype(dtype)


def numbers(n: OnnxCall, name: str, dtype: type[np.generic] = np.float32) -> Array:
    """Convert a list attribute of numbers to an array, empty if omitted."""
    return np.array(n.attr(name) or (), dtype)
