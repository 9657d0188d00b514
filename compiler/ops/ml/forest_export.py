"""The export of forests: one TreeEnsemble if it can express the forest, else operators per step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from compiler.dataclass import dataclass
from compiler.ir.operator import Array, Operand, Standard, Tensor, standard
from compiler.ops.ml.forest import EQUAL, GREATER, LESS, UNORDERED, forest

_MODES = {
    LESS | EQUAL: 0,
    LESS: 1,
    GREATER | EQUAL: 2,
    GREATER: 3,
    EQUAL: 4,
    LESS | GREATER: 5,
}
"""TreeEnsemble's encoding of comparisons."""

_AGGREGATES = {"sum": 1, "min": 2, "max": 3}
_REDUCTIONS = {"sum": "add", "min": "min", "max": "max"}

DEEPEST = 64
"""The maximum depth of a tree that is exported as operators for each step."""


@dataclass(frozen=True)
class _Tables:
    """The elements of the tables that describe a forest."""

    nodes: Array
    thresholds: Array
    relations: Array
    roots: Array
    targets: Array
    weights: Array


@forest.export
def _(
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
    aggregate: str,
    absent: float,
) -> Operand | None:
    given = [t.value for t in (nodes, thresholds, relations, roots, targets, weights)]
    if depths.value is None or any(t is None for t in given):
        return None
    tables = _Tables(*(np.asarray(t) for t in given))
    if not absent and _is_ensemble(tables, n_targets, aggregate):
        return standard(
            "TreeEnsemble",
            x,
            domain="ai.onnx.ml",
            n_targets=n_targets,
            aggregate_function=_AGGREGATES[aggregate],
            **_attributes(_with_one_weight(_without_bare_leaves(tables))),
        )
    n_steps = int(np.max(depths.known, initial=0))
    if n_steps > DEEPEST:
        return None
    leaves = _walked(x, tables, depths.known, n_steps)
    return _combined(x, leaves, tables, n_targets, aggregate, absent)


# Export as one node


def _is_ensemble(t: _Tables, n_targets: int, aggregate: str) -> bool:
    """Return whether TreeEnsemble can express all comparisons and all targets of leaves.

    TreeEnsemble's "not equal" is also true for NaN. If targets are sums, a leaf without targets may
    add 0.
    """
    aimed = aggregate == "sum" or t.targets.min(initial=0) >= 0
    inside = t.targets.max(initial=0) < n_targets
    named = set((t.relations & ~UNORDERED).tolist()) <= set(_MODES)
    unequal = (t.relations & ~UNORDERED) == (LESS | GREATER)
    with_nan = bool(((t.relations & UNORDERED) != 0)[unequal].all())
    return bool(aimed and inside) and len(t.weights) > 0 and named and with_nan and _is_tree(t)


def _is_tree(t: _Tables) -> bool:
    """Return whether every node is in its table and has exactly one parent."""
    branches = t.nodes[:, 1:].reshape(-1)
    inner = np.concatenate([branches[branches >= 0], t.roots[t.roots >= 0]])
    leaves = -1 - branches[branches < 0]
    return (
        len(set(inner.tolist())) == len(inner)
        and inner.max(initial=0) < len(t.nodes)
        and len(set(leaves.tolist())) == len(leaves)
        and leaves.max(initial=0) < len(t.weights)
    )


def _without_bare_leaves(t: _Tables) -> _Tables:
    """Add an inner node with arbitrary comparison above each leaf that is a tree's only node."""
    bare = t.roots < 0
    leaves = t.roots[bare]
    rows = np.stack([np.zeros_like(leaves), leaves, leaves], axis=1)
    roots = t.roots.copy()
    roots[bare] = len(t.nodes) + np.arange(len(leaves))
    return replace(
        t,
        nodes=np.concatenate([t.nodes, rows]),
        thresholds=np.concatenate([t.thresholds, np.zeros(len(leaves), t.thresholds.dtype)]),
        relations=np.concatenate([t.relations, np.full(len(leaves), LESS, t.relations.dtype)]),
        roots=roots,
    )


def _with_one_weight(t: _Tables) -> _Tables:
    """Copy the trees once for each weight of a leaf; a missing weight adds 0."""
    n_copies, n_nodes, n_leaves = t.targets.shape[1], len(t.nodes), len(t.weights)
    copies: list[Array] = []
    for k in range(n_copies):
        nodes = t.nodes.copy()
        branches = nodes[:, 1:]
        nodes[:, 1:] = np.where(branches < 0, branches - k * n_leaves, branches + k * n_nodes)
        copies.append(nodes)
    is_aimed = t.targets >= 0
    return _Tables(
        np.concatenate(copies),
        np.tile(t.thresholds, n_copies),
        np.tile(t.relations, n_copies),
        np.concatenate([t.roots + k * n_nodes for k in range(n_copies)]),
        np.where(is_aimed, t.targets, 0).T.reshape(-1, 1),
        np.where(is_aimed, t.weights, 0).astype(t.weights.dtype).T.reshape(-1, 1),
    )


def _attributes(t: _Tables) -> dict[str, Any]:
    yes, no = t.nodes[:, 1], t.nodes[:, 2]
    plain = t.relations & ~UNORDERED
    return {
        "tree_roots": t.roots.tolist(),
        "nodes_featureids": t.nodes[:, 0].tolist(),
        "nodes_modes": np.array([_MODES[r] for r in plain.tolist()], np.uint8),
        "nodes_splits": t.thresholds,
        "nodes_missing_value_tracks_true": [int(r & UNORDERED != 0) for r in t.relations.tolist()],
        "nodes_trueleafs": (yes < 0).astype(int).tolist(),
        "nodes_truenodeids": np.where(yes < 0, -1 - yes, yes).tolist(),
        "nodes_falseleafs": (no < 0).astype(int).tolist(),
        "nodes_falsenodeids": np.where(no < 0, -1 - no, no).tolist(),
        "leaf_targetids": t.targets[:, 0].tolist(),
        "leaf_weights": t.weights[:, 0],
    }


# Export step by step


def _walked(x: Tensor, t: _Tables, depths: Array, n_steps: int) -> Operand:
    """Compute the leaf that each row reaches in each tree, [N, trees], in parallel steps."""
    n_rows = standard("Shape", x, start=0, end=1)
    shape = standard("Concat", n_rows, np.array([len(t.roots)]), axis=0)
    at: Operand = standard("Expand", t.roots.astype(np.int64)[None], shape)
    for k in range(n_steps):
        inner = standard("Max", at, np.array(0))
        goes_on = standard("GreaterOrEqual", at, np.array(0))
        if (depths <= k).any():
            goes_on = standard("And", goes_on, depths[None] > k)
        at = standard("Where", goes_on, _step(x, t, inner), at)
    leaves = standard("Sub", np.array(-1), at)
    return standard("Clip", leaves, np.array(0), np.array(max(len(t.weights) - 1, 0)))


def _step(x: Tensor, t: _Tables, at: Operand) -> Operand:
    """Compute the next node for each row and tree."""
    last = x.shape[1] - 1 if isinstance(x.shape[1], int) else np.iinfo(np.int64).max
    features = np.clip(t.nodes[:, 0].astype(np.int64), 0, last)
    value = standard("GatherElements", x, standard("Gather", features, at), axis=1)
    limit = standard("Gather", t.thresholds, at)
    tests = {
        LESS: standard("Less", value, limit),
        EQUAL: standard("Equal", value, limit),
        GREATER: standard("Greater", value, limit),
        UNORDERED: standard("Or", standard("IsNaN", value), standard("IsNaN", limit)),
    }
    holds: Standard | None = None
    for relation, test in tests.items():
        allowed = (t.relations & relation) != 0
        if allowed.any():
            part = standard("And", standard("Gather", allowed, at), test)
            holds = part if holds is None else standard("Or", holds, part)
    yes, no = (standard("Gather", t.nodes[:, k].astype(np.int64), at) for k in (1, 2))
    return no if holds is None else standard("Where", holds, yes, no)


def _combined(
    x: Tensor, leaves: Operand, t: _Tables, n_targets: int, aggregate: str, absent: float
) -> Operand:
    """Aggregate weights of leaves by target; weights without a target go to an extra column."""
    number = x.dtype.numpy.type
    found = (t.targets >= 0) & (t.targets < n_targets)
    targets = np.where(found, t.targets, n_targets).astype(np.int64)
    n_rows = standard("Shape", x, start=0, end=1)
    flat = standard("Concat", n_rows, np.array([len(t.roots) * targets.shape[1]]), axis=0)
    columns = standard("Reshape", standard("Gather", targets, leaves), flat, allowzero=True)
    weights = standard("Reshape", standard("Gather", t.weights, leaves), flat, allowzero=True)
    shape = standard("Concat", n_rows, np.array([n_targets + 1]), axis=0)
    start = {"sum": 0.0, "min": np.inf, "max": -np.inf}[aggregate]
    empty = standard("ConstantOfShape", shape, value=np.array([start], x.dtype.numpy))
    reduction = _REDUCTIONS[aggregate]
    total = _scattered(empty, columns, weights, reduction)
    none = standard("ConstantOfShape", shape, value=np.array([0], x.dtype.numpy))
    one = standard("Expand", number(1), flat)
    is_hit = standard("Greater", _scattered(none, columns, one), number(0))
    made = standard("Where", is_hit, total, number(absent))
    return standard("Slice", made, np.array([0]), np.array([n_targets]), np.array([1]))


def _scattered(x: Operand, at: Operand, values: Operand, reduction: str = "max") -> Standard:
    return standard("ScatterElements", x, at, values, axis=1, reduction=reduction)
