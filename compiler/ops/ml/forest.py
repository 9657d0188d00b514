"""Decision forests as tables: rows of x descend every tree, and reached leaves are aggregated.

ml/trees.py converts ONNX's attributes to these tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.compute.scalar import Scalar
from compiler.errors import require
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.operator import Array, Cost, Tensor, op
from compiler.ir.types import DType, TensorType
from compiler.ops.type_rules.requirements import (
    require_elements,
    require_rank,
    require_size,
    traffic,
)

LESS, EQUAL, GREATER, UNORDERED = 1, 2, 4, 8
"""The relations of a number to a threshold; "unordered" means that at least one of the two is
NaN."""

AGGREGATES = ("sum", "min", "max")


ROWS_AT_ONCE = 64
"""The number of rows that descend a tree in lockstep; the steps of different rows are
independent."""


@op(kind="opaque", exact=False)
def forest(
    x: Tensor,
    nodes: Tensor,
    thresholds: Tensor,
    relations: Tensor,
    roots: Tensor,
    depths: Tensor,
    targets: Tensor,
    weights: Tensor,
    *,
    n_targets: int,
    aggregate: str = "sum",
    absent: float = 0.0,
) -> TensorType:
    """Evaluate a decision forest: rows of x descend every tree, and reached leaves are aggregated.

    nodes[k] lists a feature and two branches. The relation of x[n, feature] to thresholds[k] is 1
    (less), 2 (equal), 4 (greater) or 8 (unordered). relations[k] is a bit mask of relations: the
    first branch is taken if the relation is in the mask, else the second. A negative branch is a
    leaf; -1 is leaf 0, -2 is leaf 1, and so on. For every j, a leaf contributes weights[leaf, j] to
    the sum, minimum or maximum of the target numbered targets[leaf, j]. A target of -1 marks the
    absence of a target. If no reached leaf has a weight for a target, the target has the value
    `absent`. Every path in tree t has at most depths[t] steps.
    Shapes: x [N, F], nodes [n, 3], thresholds and relations [n], roots and depths [trees], targets
    and weights [leaves, J]; the result is [N, n_targets]. Indices out of bounds are clamped.
    Errors: E-OP-DTYPE, E-OP-SHAPE, E-OP-ATTRIBUTE.
    Source: ONNX TreeEnsemble-5 (ai.onnx.ml).
    """
    dtype = require_elements("forest", "float", x, thresholds, weights)
    for t in (nodes, relations, roots, depths, targets):
        require(t.dtype is DType.i32, "E-OP-DTYPE", f"forest needs tables of i32, got {t.type}")
    require_rank("forest", x, [2])
    require(x.shape[1] != 0, "E-OP-SHAPE", f"forest needs features, got {x.type}")
    for t in (thresholds, relations, roots, depths):
        require_rank("forest", t, [1], "thresholds, relations, roots and depths")
    for t in (nodes, targets, weights):
        require_rank("forest", t, [2], "nodes, targets and weights")
    require_size("forest", "the second axis of nodes", nodes.shape[1], 3)
    require(
        aggregate in AGGREGATES and n_targets >= 1,
        "E-OP-ATTRIBUTE",
        f"forest cannot combine {n_targets} targets by {aggregate!r:.40}",
    )
    return TensorType(dtype, (x.shape[0], n_targets))


def _fetched(table: Array, at: Array) -> Array:
    """Return the elements that generated code reads: indices are clamped; empty tables give 0."""
    if table.shape[0] == 0:
        return np.zeros((*at.shape, *table.shape[1:]), table.dtype)
    return table[np.clip(at, 0, table.shape[0] - 1)]


@forest.reference
def _(
    x: Array,
    nodes: Array,
    thresholds: Array,
    relations: Array,
    roots: Array,
    depths: Array,
    targets: Array,
    weights: Array,
    *,
    n_targets: int,
    aggregate: str,
    absent: float,
) -> Array:
    out = np.full((len(x), n_targets), absent, x.dtype)
    rows = np.arange(len(x))
    hit = np.zeros(out.shape, np.bool_)
    combine = {"sum": np.add, "min": np.minimum, "max": np.maximum}[aggregate]
    for t, root in enumerate(roots):
        at = np.full(len(x), root)
        for _ in range(_fetched(depths, np.asarray(t))):
            feature, yes, no = _fetched(nodes, at).T
            value = x[rows, np.clip(feature, 0, x.shape[1] - 1)]
            limit = _fetched(thresholds, at)
            relation = np.select(
                [value < limit, value == limit, value > limit], [LESS, EQUAL, GREATER], UNORDERED
            )
            step = np.where((_fetched(relations, at) & relation) != 0, yes, no)
            at = np.where(at < 0, at, step)
        leaf = -1 - at
        for target, weight in zip(
            _fetched(targets, leaf).T, _fetched(weights, leaf).T, strict=True
        ):
            n = rows[(target >= 0) & (target < n_targets)]
            c, w = target[n], weight[n]
            out[n, c] = np.where(hit[n, c], combine(out[n, c], w), w)
            hit[n, c] = True
    return out


@forest.cost
def _(x: TensorType, *tables: TensorType, out: TensorType, **_: Any) -> Cost:
    """Count four operations per step; the estimate assumes balanced trees of equal size."""
    n_nodes, n_trees = tables[1].n_elements, tables[3].n_elements
    steps = (n_nodes // max(n_trees, 1) + 1).bit_length()
    added = tables[5].static_shape[1]
    return traffic([x, *tables], out, x.static_shape[0] * n_trees * (4 * steps + added))


@forest.lower
def _(
    k: Lowering,
    x: Handle,
    nodes: Handle,
    thresholds: Handle,
    relations: Handle,
    roots: Handle,
    depths: Handle,
    targets: Handle,
    weights: Handle,
    out: Handle,
    *,
    n_targets: int,
    aggregate: str,
    absent: float,
) -> None:
    """Lower by blocks of rows; the rows of a block descend one tree after another, in lockstep."""
    n_rows, n_trees = out.shape[0], roots.shape[0]
    at = k.temporary((ROWS_AT_ONCE,), DType.i32, "at")
    hits = k.temporary((ROWS_AT_ONCE, n_targets), DType.bool, "hits")
    with_hits = aggregate != "sum" or absent != 0

    def step(n: Expr, node: Scalar) -> Scalar:
        limit, allowed = thresholds.at(node), relations.at(node)
        value = x.at(n, nodes.at(node, 0))
        holds = _holds(k, value, limit, allowed)
        return k.where(k.lt(node, 0), node, k.where(holds, nodes.at(node, 1), nodes.at(node, 2)))

    n_blocks = affine.floordiv(n_rows + (ROWS_AT_ONCE - 1), ROWS_AT_ONCE)
    with k.routine() as r, r.loop(n_blocks, "b") as b:
        first = b * ROWS_AT_ONCE
        count = affine.minimum(n_rows - first, ROWS_AT_ONCE)
        steps = r.cell(DType.i32, "steps")
        with r.loops([count, n_targets], "nc") as (n, c):
            r.store(out.at(first + n, c), absent)
            if with_hits:
                r.store(hits[n, c], False)
        with r.loop(n_trees, "t") as t:
            with r.loop(count, "n") as n:
                r.store(at[n], roots[t])
            r.store(steps, 0)
            with r.repeat(k.lt(steps, depths.at(t))):
                r.store(steps, steps + 1)
                with r.loop(count, "n") as n:
                    r.store(at[n], step(first + n, at[n]))
            with r.loops([count, weights.shape[1]], "nj") as (n, j):
                leaf = -1 - at[n]
                target, weight = targets.at(leaf, j), weights.at(leaf, j)
                old = out.at(first + n, target)
                if not with_hits:
                    r.store(out.at(first + n, target), old + weight)
                else:
                    combined = k.apply("add" if aggregate == "sum" else aggregate, old, weight)
                    combined = k.where(hits.at(n, target), combined, weight)
                    r.store(out.at(first + n, target), combined)
                    r.store(hits.at(n, target), True)


def _holds(k: Lowering, value: Scalar, limit: Scalar, allowed: Scalar) -> Scalar:
    """Return whether the relation of a feature to a threshold is one of the allowed relations."""
    tests = {
        LESS: k.lt(value, limit),
        EQUAL: k.eq(value, limit),
        GREATER: k.gt(value, limit),
        UNORDERED: k.apply("or", k.isnan(value), k.isnan(limit)),
    }
    holds: Scalar = k.number(False, DType.bool)
    for relation, test in tests.items():
        bit = k.apply("and", allowed, k.number(relation, DType.i32))
        holds = k.apply("or", holds, k.apply("and", k.ne(bit, 0), test))
    return holds


def _table(*numbers: int) -> Array:
    return np.array(numbers, np.int32)


@forest.samples
def _() -> Iterator[tuple[Any, ...]]:
    """Yield two trees over three features: a tree of depth three, and a single leaf."""
    nodes = [
        np.stack([_table(2, 0, 1, 2), _table(1, -1, 3, -4), _table(2, -2, -3, -5)], axis=1),
        np.array([0.25, -0.5, 0.75, 0.0], np.float32),
        _table(LESS | EQUAL, GREATER | UNORDERED, LESS | GREATER | UNORDERED, EQUAL),
        _table(0, -6, 1),
        _table(3, 0, 2),
    ]
    one = [_table(0, 2, 0, 1, 2, 1)[:, None], np.linspace(-1, 2, 6, dtype=np.float32)[:, None]]
    rng = np.random.default_rng(0)
    many = [
        np.array([[0, 1], [2, 0], [-1, 1], [1, 2], [2, -1], [-1, -1]], np.int32),
        rng.normal(size=(6, 2)).astype(np.float32),
    ]
    odd = rng.normal(size=(7, 3)).astype(np.float32)
    odd[0] = np.nan
    odd[1, 2] = 0.25
    odd[2] = [0, 0.75, 0]
    yield [odd, *nodes, *one], {"n_targets": 3}
    for aggregate in AGGREGATES:
        attrs = {"n_targets": 4, "aggregate": aggregate}
        yield [odd, *nodes, *many], attrs
        yield [odd, *nodes, *many], {**attrs, "absent": -1.5}
    for relation in (LESS | EQUAL, LESS | GREATER | UNORDERED, EQUAL | UNORDERED, 0):
        relations = np.full(4, relation, np.int32)
        yield [odd, *nodes[:2], relations, *nodes[3:], *one], {"n_targets": 3}
    yield ["f32[0,3]", *nodes, *one], {"n_targets": 3}
    yield ["f32[67,3]", *nodes, *many], {"n_targets": 3}
    double = [a.astype(np.float64) if a.dtype == np.float32 else a for a in (odd, *nodes, *one)]
    yield double, {"n_targets": 3}
    leaf = [
        _table()[:, None].repeat(3, 1),
        np.zeros(0, np.float32),
        _table(),
        _table(-1),
        _table(0),
    ]
    yield ["f32[2,5]", *leaf, *one], {"n_targets": 1}
