"""Decision trees as tables: every row of x walks down every tree, and the leaves are combined.

What ONNX's attributes say about trees is made into these tables in ml_trees.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.compute.scalar import Scalar
from compiler.errors import require
from compiler.ir.operator import Array, Cost, Tensor, op
from compiler.ir.types import DType, TensorType
from compiler.ops.requirements import require_elements, require_rank, traffic

LESS, EQUAL, GREATER, UNORDERED = 1, 2, 4, 8
"""How a number may stand to a threshold; what is unordered has a NaN on one side."""

AGGREGATES = ("sum", "min", "max")


@op(kind="opaque", exact=False)
def forest(
    x: Tensor,
    features: Tensor,
    thresholds: Tensor,
    relations: Tensor,
    yes: Tensor,
    no: Tensor,
    roots: Tensor,
    targets: Tensor,
    weights: Tensor,
    *,
    n_targets: int,
    depth: int,
    aggregate: str = "sum",
    absent: float = 0.0,
) -> TensorType:
    """Walk down every tree with every row of x, and combine the weights of the leaves by target.

    A node compares x[n, features[node]] with thresholds[node] and goes to yes[node] if the relation
    (1 less, 2 equal, 4 greater, 8 unordered) is in relations[node], else to no[node]. Numbers below
    0 are leaves: -1 is the first. A leaf adds weights[leaf, j] to the target targets[leaf, j] for
    every j, or with another aggregate gives the smallest or largest; a target of -1 is none. A
    target that no leaf of a row has a weight for gets `absent`. A walk takes `depth` steps at most.
    Shapes: x [N, F], the tables of nodes [n], roots [trees], targets and weights [leaves, J]; the
    result is [N, n_targets]. An index outside a table counts as the nearest inside.
    Errors: E-OP-DTYPE, E-OP-SHAPE, E-OP-ATTRIBUTE.
    Source: ONNX TreeEnsemble-5 (ai.onnx.ml).
    """
    dtype = require_elements("forest", "float", x, thresholds, weights)
    for what, t in _numbered(features, relations, yes, no, roots, targets):
        require(t.dtype is DType.i32, "E-OP-DTYPE", f"forest needs {what} as i32, got {t.type}")
    require_rank("forest", x, [2])
    require(x.shape[1] != 0, "E-OP-SHAPE", f"forest needs features, got {x.type}")
    for t in (features, thresholds, relations, yes, no, roots):
        require_rank("forest", t, [1], "every table of nodes, and the roots,")
    require_rank("forest", targets, [2], "targets")
    require_rank("forest", weights, [2], "weights")
    require(
        aggregate in AGGREGATES and n_targets >= 1 and depth >= 0,
        "E-OP-ATTRIBUTE",
        f"forest cannot take the {aggregate!r:.40} of {n_targets} targets over {depth} steps",
    )
    return TensorType(dtype, (x.shape[0], n_targets))


def _numbered(*tables: Tensor) -> Iterator[tuple[str, Tensor]]:
    names = ("features", "relations", "yes", "no", "roots", "targets")
    return zip(names, tables, strict=True)


def _fetched(table: Array, at: Array) -> Array:
    """Elements by number, as generated code reads them: the nearest inside, 0 from nothing."""
    if table.shape[0] == 0:
        return np.zeros((*at.shape, *table.shape[1:]), table.dtype)
    return table[np.clip(at, 0, table.shape[0] - 1)]


@forest.reference
def _(
    x: Array,
    features: Array,
    thresholds: Array,
    relations: Array,
    yes: Array,
    no: Array,
    roots: Array,
    targets: Array,
    weights: Array,
    *,
    n_targets: int,
    depth: int,
    aggregate: str,
    absent: float,
) -> Array:
    out = np.full((len(x), n_targets), absent, x.dtype)
    rows = np.arange(len(x))
    hit = np.zeros(out.shape, np.bool_)
    combine = {"sum": np.add, "min": np.minimum, "max": np.maximum}[aggregate]
    for root in roots:
        at = np.full(len(x), root)
        for _ in range(depth):
            inside = np.maximum(at, 0)
            value = x[rows, np.clip(_fetched(features, inside), 0, x.shape[1] - 1)]
            limit = _fetched(thresholds, inside)
            relation = np.select(
                [value < limit, value == limit, value > limit], [LESS, EQUAL, GREATER], UNORDERED
            )
            holds = (_fetched(relations, inside) & relation) != 0
            step = np.where(holds, _fetched(yes, inside), _fetched(no, inside))
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
def _(x: TensorType, *tables: TensorType, out: TensorType, depth: int, **_: Any) -> Cost:
    """Four operations a step: fetch, compare, and two to choose where to go."""
    steps = x.static_shape[0] * tables[5].n_elements * depth
    added = x.static_shape[0] * tables[5].n_elements * tables[7].static_shape[1]
    return traffic([x, *tables], out, 4 * steps + added)


@forest.lower
def _(
    k: Lowering,
    x: Handle,
    features: Handle,
    thresholds: Handle,
    relations: Handle,
    yes: Handle,
    no: Handle,
    roots: Handle,
    targets: Handle,
    weights: Handle,
    out: Handle,
    *,
    n_targets: int,
    depth: int,
    aggregate: str,
    absent: float,
) -> None:
    """All trees take a step together: their walks are independent, so none waits for another's."""
    at = k.temporary(roots.shape, DType.i32, "at")
    hits = _Hits(k, n_targets) if aggregate != "sum" or absent != 0 else None

    def step(n: Any, node: Scalar) -> Scalar:
        value = x.at(n, features.at(node))
        limit = thresholds.at(node)
        allowed = relations.at(node)

        def when(relation: int, holds: Scalar) -> Scalar:
            bit = k.apply("and", allowed, k.number(relation, DType.i32))
            return k.apply("and", k.ne(bit, 0), holds)

        either = [
            when(LESS, k.lt(value, limit)),
            when(EQUAL, k.eq(value, limit)),
            when(GREATER, k.gt(value, limit)),
            when(UNORDERED, k.apply("or", k.isnan(value), k.isnan(limit))),
        ]
        holds = either[0]
        for other in either[1:]:
            holds = k.apply("or", holds, other)
        return k.where(holds, yes.at(node), no.at(node))

    with k.routine() as r, r.loop(out.shape[0], "n") as n:
        with r.loop(roots.shape[0], "t") as t:
            r.store(at[t], roots[t])
        with r.loop(depth, "d"), r.loop(roots.shape[0], "t") as t:
            r.store(at[t], k.where(k.lt(at[t], 0), at[t], step(n, at[t])))
        with r.loop(n_targets, "c") as c:
            r.store(out[n, c], absent)
            if hits:
                r.store(hits.flags[c], False)
        with r.loops([roots.shape[0], weights.shape[1]], "tj") as (t, j):
            leaf = -1 - at[t]
            target, weight = targets.at(leaf, j), weights.at(leaf, j)
            old = out.at(n, target)
            combined = hits.combined(target, old, weight, aggregate) if hits else old + weight
            r.store(out.at(n, target), combined)
            if hits:
                r.store(hits.flags.at(target), True)


class _Hits:
    """Which targets have got a weight yet: the first one is taken as it is."""

    def __init__(self, k: Lowering, n_targets: int) -> None:
        self.k = k
        self.flags = k.temporary((n_targets,), DType.bool, "hit")

    def combined(self, target: Scalar, old: Scalar, weight: Scalar, aggregate: str) -> Scalar:
        """What a target has after one more weight."""
        combine = "add" if aggregate == "sum" else aggregate
        return self.k.where(self.flags.at(target), self.k.apply(combine, old, weight), weight)


def _table(*numbers: int) -> Array:
    return np.array(numbers, np.int32)


@forest.samples
def _() -> Iterator[tuple[Any, ...]]:
    """Two trees over three features, one of them three steps deep and the other a single leaf."""
    nodes = [
        _table(2, 0, 1, 2),
        np.array([0.25, -0.5, 0.75, 0.0], np.float32),
        _table(LESS | EQUAL, GREATER | UNORDERED, LESS | GREATER | UNORDERED, EQUAL),
        _table(1, -1, 3, -4),
        _table(2, -2, -3, -5),
        _table(0, -6, 1),
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
    yield [odd, *nodes, *one], {"n_targets": 3, "depth": 3}
    for aggregate in AGGREGATES:
        attrs = {"n_targets": 4, "depth": 3, "aggregate": aggregate}
        yield [odd, *nodes, *many], attrs
        yield [odd, *nodes, *many], {**attrs, "absent": -1.5}
    yield ["f32[0,3]", *nodes, *one], {"n_targets": 3, "depth": 3}
    double = [a.astype(np.float64) if a.dtype == np.float32 else a for a in (odd, *nodes, *one)]
    yield double, {"n_targets": 3, "depth": 2}
    leaf = [_table(), np.zeros(0, np.float32), _table(), _table(), _table(), _table(-1)]
    yield ["f32[2,5]", *leaf, *one], {"n_targets": 1, "depth": 0}
