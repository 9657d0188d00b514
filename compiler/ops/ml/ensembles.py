"""The outputs of ONNX's tree ensembles, from tree scores: targets, or labels and probabilities.

ONNX does not specify the case of two classes; its results follow ONNX Runtime.
"""

from __future__ import annotations

import numpy as np

from compiler.dataclass import dataclass
from compiler.errors import require
from compiler.ir.operator import Array, OnnxCall, Operand, Tensor
from compiler.ir.types import DType
from compiler.ops.data_movement.concat import concat
from compiler.ops.data_movement.gather import gather
from compiler.ops.data_movement.reshape import squeeze
from compiler.ops.elementwise.arithmetic import add, neg
from compiler.ops.elementwise.cast import cast
from compiler.ops.elementwise.compare import greater, where
from compiler.ops.ml.forest import forest
from compiler.ops.ml.scores import (
    TRANSFORMS,
    Labels,
    has_rows,
    rows_of,
    transformed,
    with_opposite,
)
from compiler.ops.ml.trees import AGGREGATES, Tables, listed, numbers_of, split


def _computed_in(x: Tensor) -> DType:
    """Return the element type for comparisons: f64 if x is f64, else f32."""
    return DType.f64 if x.dtype is DType.f64 else DType.f32


@forest.onnx("ai.onnx.ml:TreeEnsembleRegressor")
def _(n: OnnxCall) -> Operand | None:
    x = n.operand(0)
    if x is None or not has_rows(x):
        return None
    dtype = _computed_in(x)
    n_targets = int(n.attr("n_targets", 0) or 0)
    require(n_targets >= 1, "E-OP-ATTRIBUTE", "a tree ensemble needs targets")
    tables = listed(n, "target", dtype.numpy)
    scores = tables.scores(rows_of(x, dtype), n_targets, n.attr("aggregate_function", "SUM"))
    base = numbers_of(n, "base_values", dtype.numpy)
    made = scores
    if len(base) == n_targets:
        made = add(scores, base)
        if not all(map(tables.always, range(n_targets))):
            # As in ONNX Runtime, a target without weights in any leaf has no base value, either.
            hit = tables.hits(rows_of(x, dtype), n_targets)
            made = where(hit, made, np.asarray(0, dtype.numpy))
    return as_f32(transformed(made, n_targets, n.attr("post_transform", "NONE")), dtype)


@forest.onnx("ai.onnx.ml:TreeEnsemble")
def _(n: OnnxCall) -> Operand | None:
    x = n.operand(0)
    if x is None or not has_rows(x):
        return None
    dtype = _computed_in(x)
    n_targets = int(n.attr("n_targets", 0) or 0)
    aggregate, transform = (
        int(n.attr("aggregate_function", 1)),
        int(n.attr("post_transform", 0)),
    )
    require(
        n_targets >= 1 and 0 <= aggregate < len(AGGREGATES) and 0 <= transform < len(TRANSFORMS),
        "E-OP-ATTRIBUTE",
        f"a tree ensemble cannot have {n_targets} targets, aggregate_function {aggregate} and "
        f"post_transform {transform}",
    )
    tables = split(n, dtype.numpy)
    scores = tables.scores(rows_of(x, dtype), n_targets, AGGREGATES[aggregate])
    made = transformed(scores, n_targets, TRANSFORMS[transform])
    return made if x.dtype is dtype else cast(made, to=x.dtype)


def as_f32(scores: Operand, dtype: DType) -> Operand:
    """Convert scores to f32."""
    return scores if dtype is DType.f32 else cast(scores, to=DType.f32)


@forest.onnx("ai.onnx.ml:TreeEnsembleClassifier")
def _(n: OnnxCall) -> tuple[Operand, Operand] | None:
    x = n.operand(0)
    if x is None or not has_rows(x):
        return None
    dtype = _computed_in(x)
    labels = Labels.of(n, "classlabels_int64s", "classlabels_strings")
    require(len(labels.values) > 0, "E-OP-ATTRIBUTE", "a classifier needs labels")
    tables = listed(n, "class", dtype.numpy)
    base = numbers_of(n, "base_values", dtype.numpy)
    votes = _Votes(rows_of(x, dtype), tables, base, labels, n.attr("post_transform", "NONE"))
    label, scores = votes.many() if len(labels.values) > 2 else votes.few()
    return label, as_f32(scores, dtype)


Hit = Operand | bool
"""The rows in which a class has scores: True for all rows, False for no row, else a bool column."""


@dataclass(frozen=True)
class _Votes:
    """The conversion of class scores to labels and probabilities."""

    x: Operand
    tables: Tables
    base: Array
    labels: Labels
    transform: str

    def many(self) -> tuple[Operand, Operand]:
        """Convert scores of three or more classes; select the best of the classes with scores."""
        count = len(self.labels.values)
        scores: Operand = self.tables.scores(self.x, count)
        if len(self.base) == count:
            scores = add(scores, self.base)
            return self.labels.best(scores), transformed(scores, count, self.transform)
        judged = scores
        if not all(map(self.tables.always, range(count))):
            judged = self.tables.scores(self.x, count, absent=-np.inf)
        return self.labels.best(judged), transformed(scores, count, self.transform)

    def few(self) -> tuple[Operand, Operand]:
        """Convert the scores of one or two classes; two classes may share one column of scores."""
        if len(self.labels.values) == 1:
            score = _plus(self.tables.scores(self.x, 1), self.base[:1])
            above = greater(squeeze(score, axes=(1,)), self._number(0))
            return cast(above, to=DType.i64), transformed(score, 1, self.transform)
        require(
            len(self.base) <= 2,
            "E-OP-ATTRIBUTE",
            "two classes have at most two base values",
        )
        scores = self.tables.scores(self.x, 2)
        hit0, hit1 = self._hits()
        none0, none1 = (gather(scores, np.array([c]), axis=1) for c in (0, 1))
        first, second = none0, none1  # 0 for a class without a score
        if len(self.base) == 2:
            both = add(first, self.base[1:])
            first = _pick(hit1, neg(both), add(first, self.base[:1]))
            second = _pick(hit1, both, add(second, self.base[1:]))
        else:
            first = _plus(first, self.base)
        decisive = _pick(hit1, second, _pick(hit0, first, none0))
        pair = concat(_pick(hit0, first, none0), _pick(hit1, second, none1), axis=1)
        made = transformed(pair, 2, self.transform)
        if len(self.base) < 2:
            made = _pick(hit1, made, self._shared(_pick(hit0, first, none0)))
        return self._label(squeeze(decisive, axes=(1,))), made

    def _hits(self) -> tuple[Hit, Hit]:
        """Return, for each of two classes, the rows in which a leaf has a weight for the class."""
        always = [self.tables.always(c) for c in (0, 1)]
        never = [not np.any(self.tables.targets == c) for c in (0, 1)]
        if all(a or n for a, n in zip(always, never, strict=True)):
            return always[0], always[1]
        found = self.tables.hits(self.x, 2)
        return gather(found, np.array([0]), axis=1), gather(found, np.array([1]), axis=1)

    @property
    def _is_one_sided(self) -> bool:
        """Whether the weights of all leaves belong to the same one of two classes."""
        return len(np.unique(self.tables.targets[self.tables.targets >= 0])) == 1

    @property
    def _is_positive(self) -> bool:
        return bool(np.all(self.tables.weights >= 0))

    def _shared(self, score: Operand) -> Operand:
        """Compute the columns of both classes from the only column with scores."""
        complement = self._is_one_sided and self._is_positive
        return with_opposite(score, self.transform, complement=complement)

    def _label(self, score: Operand) -> Operand:
        """Return the label of each row: a threshold is applied to the decisive score."""
        limit = 0.5 if self._is_one_sided and self._is_positive else 0
        above = greater(score, self._number(limit))
        if self._is_one_sided or self.labels.are_words:
            return self.labels.second_where(above)
        return cast(above, to=DType.i64)

    def _number(self, value: float) -> Array:
        return np.asarray(value, self.tables.dtype)


def _pick(hit: Hit, then: Operand, otherwise: Operand) -> Operand:
    """Select `then` in rows with scores of a class, `otherwise` in other rows."""
    if isinstance(hit, bool):
        return then if hit else otherwise
    return where(hit, then, otherwise)


def _plus(scores: Operand, base: Array) -> Operand:
    return add(scores, base) if len(base) else scores
