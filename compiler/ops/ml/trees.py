"""The conversion of ONNX's tree ensembles to tables of nodes and leaves."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from compiler.dataclass import dataclass
from compiler.errors import require
from compiler.ir.operator import Array, Call, OnnxCall, Operand
from compiler.ops.elementwise.arithmetic import div
from compiler.ops.elementwise.compare import greater
from compiler.ops.ml.forest import EQUAL, GREATER, LESS, UNORDERED, forest
from compiler.ops.ml.scores import flat

MODES = {
    "BRANCH_LEQ": LESS | EQUAL,
    "BRANCH_LT": LESS,
    "BRANCH_GTE": GREATER | EQUAL,
    "BRANCH_GT": GREATER,
    "BRANCH_EQ": EQUAL,
    "BRANCH_NEQ": LESS | GREATER | UNORDERED,
}
"""For each mode, in TreeEnsemble's order, the relations for which a node's true branch is taken."""

MEMBER = len(MODES)
"""The number of the mode "set membership" in TreeEnsemble's encoding."""

AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")


@dataclass(frozen=True)
class Tables:
    """The tables of a forest; negative branches denote leaves, as in `forest`."""

    features: Array
    thresholds: Array
    relations: Array
    yes: Array
    no: Array
    roots: Array
    targets: Array
    weights: Array

    def scores(self, x: Operand, n_targets: int, aggregate: str = "SUM", absent: float = 0) -> Call:
        """Aggregate the weights of the reached leaves by target. Errors: E-OP-ATTRIBUTE."""
        inside = self.targets.max(initial=0) < n_targets
        require(
            bool(inside), "E-OP-ATTRIBUTE", f"a leaf has a target outside the {n_targets} targets"
        )
        made = forest(
            x,
            np.stack([self.features, self.yes, self.no], axis=1),
            self.thresholds,
            _splat_if_equal(self.relations),
            self.roots,
            np.array([len(levels) - 1 for levels in self.levels], np.int32),
            self.targets,
            self.weights,
            n_targets=n_targets,
            aggregate="sum" if aggregate == "AVERAGE" else aggregate.lower(),
            absent=absent,
        )
        return (
            div(made, np.asarray(len(self.roots), self.dtype)) if aggregate == "AVERAGE" else made
        )

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type of thresholds and weights."""
        return self.thresholds.dtype

    @cached_property
    def levels(self) -> list[list[Array]]:
        """Return the nodes and leaves of each tree, grouped by depth.

        Errors: E-OP-ATTRIBUTE for a cycle of nodes.
        """
        found: list[list[Array]] = []
        for root in self.roots:
            levels = [np.array([root])]
            while (inside := levels[-1][levels[-1] >= 0]).size:
                below = np.concatenate([self.yes[inside], self.no[inside]])
                levels.append(np.unique(below))
                is_tree = len(levels) <= len(self.yes) + 1
                require(is_tree, "E-OP-ATTRIBUTE", "the nodes of a tree form a cycle")
            found.append(levels)
        return found

    def hits(self, x: Operand, n_targets: int) -> Call:
        """Compute, for each row of x, the targets for which a reached leaf has a weight."""
        ones = replace(self, weights=np.ones_like(self.weights))
        return greater(ones.scores(x, n_targets, "MAX"), np.asarray(0.5, self.dtype))

    def always(self, target: int) -> bool:
        """Return whether the leaves of at least one tree all have a weight for the target."""
        has = np.any(self.targets == target, axis=1)
        return any(all(has[-1 - at[at < 0]].all() for at in tree) for tree in self.levels)


def _splat_if_equal(table: Array) -> Array:
    """Replace a table of equal numbers by a broadcast view, which becomes a literal in code."""
    same = table.size > 1 and (table == table[0]).all()
    return np.broadcast_to(table[0], table.shape) if same else table


# Opsets 1 to 4: nodes of all trees in lists, weights in separate lists


def listed(n: OnnxCall, weights: str, dtype: np.dtype[Any]) -> Tables:
    """Read the tables of a tree ensemble node; `weights` is the name prefix of the weight lists.

    Errors: E-OP-ATTRIBUTE.
    """
    tree, own = _ints(n, "nodes_treeids"), _ints(n, "nodes_nodeids")
    modes = np.array(n.attr("nodes_modes") or (), np.object_)
    limits = numbers_of(n, "nodes_values", dtype)
    columns = [_ints(n, f"nodes_{k}") for k in ("featureids", "truenodeids", "falsenodeids")]
    for a in (own, modes, limits, *columns):
        require(
            len(a) == len(tree),
            "E-OP-ATTRIBUTE",
            "the lists of a tree's nodes differ in length",
        )
    require(len(tree) > 0, "E-OP-ATTRIBUTE", "a tree ensemble needs nodes")
    for mode in set(modes.tolist()):
        require(
            mode in MODES or mode == "LEAF",
            "E-OP-ATTRIBUTE",
            f"unknown node mode {mode!r:.40}",
        )
    features, true, false = columns
    places = _Places(tree, own)
    is_leaf = modes == "LEAF"
    inner = np.flatnonzero(~is_leaf)
    number = np.where(is_leaf, -np.cumsum(is_leaf), np.cumsum(~is_leaf) - 1).astype(np.int32)
    relations = np.array([MODES[m] for m in modes[inner].tolist()], np.int32)
    missing = _ints(n, "nodes_missing_value_tracks_true")
    if len(missing):
        require(
            len(missing) == len(tree),
            "E-OP-ATTRIBUTE",
            "nodes_missing_value_tracks_true needs one number per node",
        )
        relations |= np.where(missing[inner] == 1, UNORDERED, 0).astype(np.int32)
    leaf = places.of(_ints(n, f"{weights}_treeids"), _ints(n, f"{weights}_nodeids"))
    targets, values = _by_leaf(
        -1 - number[leaf],
        _ints(n, f"{weights}_ids"),
        numbers_of(n, f"{weights}_weights", dtype),
        int(is_leaf.sum()),
    )
    first = np.flatnonzero(np.r_[True, tree[1:] != tree[:-1]])
    return Tables(
        features[inner].astype(np.int32),
        limits[inner],
        relations,
        number[places.of(tree[inner], true[inner])],
        number[places.of(tree[inner], false[inner])],
        number[first],
        targets,
        values,
    )


class _Places:
    """The map from tree and node numbers to positions in the node lists."""

    def __init__(self, tree: Array, own: Array) -> None:
        self._span = int(own.max(initial=0)) + 1
        require(
            own.min(initial=0) >= 0 and self._span * (int(tree.max(initial=0)) + 1) < 2**62,
            "E-OP-ATTRIBUTE",
            "a node number is negative or too large",
        )
        keys = tree * self._span + own
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]
        twice = np.any(self._keys[1:] == self._keys[:-1])
        require(not twice, "E-OP-ATTRIBUTE", "two nodes of a tree have the same number")

    def of(self, tree: Array, own: Array) -> Array:
        """Return the positions in the node lists of these nodes.

        Errors: E-OP-ATTRIBUTE if a node does not exist.
        """
        require(len(tree) == len(own), "E-OP-ATTRIBUTE", "a tree's lists differ in length")
        inside = (own >= 0) & (own < self._span)
        keys = np.where(inside, tree * self._span + own, -1)
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        found = np.all(self._keys[at] == keys)
        require(bool(found), "E-OP-ATTRIBUTE", "a tree refers to a node that it does not have")
        return self._order[at]


def _by_leaf(leaf: Array, target: Array, value: Array, n_leaves: int) -> tuple[Array, Array]:
    """Arrange targets and weights as one row per leaf, in list order; -1 marks a missing target."""
    same = len(leaf) == len(target) == len(value)
    require(same, "E-OP-ATTRIBUTE", "a tree's lists of weights differ in length")
    kept = leaf >= 0
    leaf, target, value = leaf[kept], target[kept], value[kept]
    order = np.argsort(leaf, kind="stable")
    leaf, target, value = leaf[order], target[order], value[order]
    begins = np.searchsorted(leaf, np.arange(n_leaves))
    rank = np.arange(len(leaf)) - begins[leaf]
    shape = (n_leaves, int(rank.max(initial=0)) + 1)
    targets = np.full(shape, -1, np.int32)
    values = np.zeros(shape, value.dtype)
    targets[leaf, rank], values[leaf, rank] = target, value
    return targets, values


def _ints(n: OnnxCall, name: str) -> Array:
    """Return an attribute's list of integers, clamped to the range of a table."""
    return np.clip(np.array(n.attr(name) or (), np.int64), -1, 2**31 - 1)


def numbers_of(n: OnnxCall, name: str, dtype: np.dtype[Any]) -> Array:
    """Return a list of numbers from an attribute of numbers or a tensor attribute."""
    stored = n.attr(f"{name}_as_tensor")
    return np.array(n.attr(name) or (), dtype) if stored is None else flat(stored, dtype)


# Opset 5: separate inner nodes and leaves


def split(n: OnnxCall, dtype: np.dtype[Any]) -> Tables:
    """Return the tables of a TreeEnsemble. Errors: E-OP-ATTRIBUTE."""
    modes = flat(n.attr("nodes_modes"), np.dtype(np.int64))
    count = len(modes)
    limits = flat(n.attr("nodes_splits"), dtype)
    features, yes, no, yes_leaf, no_leaf = (
        _ints(n, f"nodes_{k}")
        for k in (
            "featureids",
            "truenodeids",
            "falsenodeids",
            "trueleafs",
            "falseleafs",
        )
    )
    for a in (limits, features, yes, no, yes_leaf, no_leaf):
        require(
            len(a) == count,
            "E-OP-ATTRIBUTE",
            "the lists of a tree's nodes differ in length",
        )
    targets, weights = (
        _ints(n, "leaf_targetids"),
        flat(n.attr("leaf_weights"), dtype),
    )
    roots = _ints(n, "tree_roots")
    require(
        len(targets) == len(weights) > 0,
        "E-OP-ATTRIBUTE",
        "every leaf needs a target and a weight",
    )
    for to, leaf in ((yes, yes_leaf), (no, no_leaf), (roots, np.zeros_like(roots))):
        sizes = np.where(leaf != 0, len(targets), count)
        fits = bool(np.all((to >= 0) & (to < sizes)))
        require(fits, "E-OP-ATTRIBUTE", "a tree refers to a node that it does not have")
    require(
        bool(np.all((modes >= 0) & (modes <= MEMBER))),
        "E-OP-ATTRIBUTE",
        "a node has an unknown mode",
    )
    missing = _ints(n, "nodes_missing_value_tracks_true")
    relations = np.array([*MODES.values(), EQUAL], np.int32)[modes]
    if len(missing):
        require(
            len(missing) == count,
            "E-OP-ATTRIBUTE",
            "nodes_missing_value_tracks_true needs one number per node",
        )
        relations |= np.where(missing == 1, UNORDERED, 0).astype(np.int32)
    tables = Tables(
        features.astype(np.int32),
        limits,
        relations,
        np.where(yes_leaf != 0, -1 - yes, yes).astype(np.int32),
        np.where(no_leaf != 0, -1 - no, no).astype(np.int32),
        roots.astype(np.int32),
        targets.astype(np.int32)[:, None],
        weights[:, None],
    )
    members = n.attr("membership_values")
    values = np.zeros(0, dtype) if members is None else flat(members, dtype)
    return _with_members(tables, np.flatnonzero(modes == MEMBER), values)


def _with_members(tables: Tables, nodes: Array, values: Array) -> Tables:
    """Expand nodes that test set membership into chains of nodes that test equality.

    The member sets are concatenated, each terminated by NaN.
    """
    limits, relations, no = (
        [a] for a in (tables.thresholds.copy(), tables.relations.copy(), tables.no.copy())
    )
    features, yes = [tables.features], [tables.yes]
    count, at = len(tables.yes), 0
    ends = np.flatnonzero(np.isnan(values))
    require(
        len(ends) >= len(nodes),
        "E-OP-ATTRIBUTE",
        "a membership node has no set of members",
    )
    for node, end in zip(nodes, ends, strict=False):
        members, at = values[at:end], end + 1
        if not len(members):
            relations[0][node] &= UNORDERED
            continue
        more = len(members) - 1
        limits[0][node] = members[0]
        if not more:
            continue
        chain = np.arange(count, count + more, dtype=np.int32)
        count += more
        features.append(np.full(more, tables.features[node]))
        yes.append(np.full(more, tables.yes[node]))
        limits.append(members[1:])
        relations.append(np.full(more, EQUAL, np.int32))
        no.append(np.r_[chain[1:], tables.no[node]])
        no[0][node] = chain[0]
    return replace(
        tables,
        features=np.concatenate(features),
        thresholds=np.concatenate(limits),
        relations=np.concatenate(relations),
        yes=np.concatenate(yes),
        no=np.concatenate(no),
    )
