"""ONNX's tree ensembles as tables of nodes, and what is made of the scores of their leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from compiler.errors import require
from compiler.ir.operator import Array, Call, OnnxCall, Operand, Tensor
from compiler.ir.types import DType
from compiler.ops.cast import cast
from compiler.ops.compare import greater, where
from compiler.ops.concat import concat
from compiler.ops.elementwise import add, div, neg
from compiler.ops.gather import gather
from compiler.ops.ml_forest import EQUAL, GREATER, LESS, UNORDERED, forest
from compiler.ops.ml_scores import (
    TRANSFORMS,
    Labels,
    has_rows,
    rows_of,
    transformed,
    with_opposite,
)
from compiler.ops.reshape import squeeze

MODES = {
    "BRANCH_LEQ": LESS | EQUAL,
    "BRANCH_LT": LESS,
    "BRANCH_GTE": GREATER | EQUAL,
    "BRANCH_GT": GREATER,
    "BRANCH_EQ": EQUAL,
    "BRANCH_NEQ": LESS | GREATER | UNORDERED,
}
"""Relations for which a node goes to its true branch, in the order of TreeEnsemble's numbers."""

MEMBER = len(MODES)
"""TreeEnsemble's number for a node that asks whether a feature is in a set."""

AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")


@dataclass(frozen=True)
class Tables:
    """The operands of a forest, and how many steps its longest walk has."""

    features: Array
    thresholds: Array
    relations: Array
    yes: Array
    no: Array
    roots: Array
    targets: Array
    weights: Array
    depth: int

    def scores(self, x: Operand, n_targets: int, aggregate: str = "SUM", absent: float = 0) -> Call:
        """The weights of the leaves by target."""
        made = forest(
            x,
            self.features,
            self.thresholds,
            self.relations,
            self.yes,
            self.no,
            self.roots,
            self.targets,
            self.weights,
            n_targets=n_targets,
            depth=self.depth,
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

    def hits(self, x: Operand, n_targets: int) -> Call:
        """Which targets a row gets a weight for."""
        ones = replace(self, weights=np.ones_like(self.weights))
        return greater(ones.scores(x, n_targets, "MAX"), np.asarray(0.5, self.dtype))

    def always(self, target: int) -> bool:
        """Whether some tree has a weight for the target on each of its leaves."""
        return any(
            np.any(self.targets[leaves] == target, axis=1).all()
            for leaves in self._leaves_of_trees()
        )

    def _leaves_of_trees(self) -> Sequence[Array]:
        """The leaves of each tree, by number."""
        found: list[Array] = []
        for root in self.roots:
            at, leaves = np.array([root]), []
            while at.size:
                leaves.append(-1 - at[at < 0])
                at = at[at >= 0]
                at = np.unique(np.concatenate([self.yes[at], self.no[at]]))
            found.append(np.concatenate(leaves))
        return found


def finished(tables: Tables) -> Tables:
    """The tables with the length of their longest walk. Errors: E-OP-ATTRIBUTE for a circle."""
    at, depth = np.unique(tables.roots), 0
    while (inside := at[at >= 0]).size:
        depth += 1
        require(
            depth <= len(tables.yes),
            "E-OP-ATTRIBUTE",
            "the nodes of a tree make up a circle",
        )
        at = np.unique(np.concatenate([tables.yes[inside], tables.no[inside]]))
    return replace(tables, depth=depth)


# Opsets 1 to 4: nodes of all trees in lists, weights in lists of their own


def listed(n: OnnxCall, weights: str, dtype: np.dtype[Any]) -> Tables:
    """The tables of a node whose lists of weights begin with this word. Errors: E-OP-ATTRIBUTE."""
    tree, own = _ints(n, "nodes_treeids"), _ints(n, "nodes_nodeids")
    modes = np.array(n.attr("nodes_modes") or ())
    limits = _floats(n, "nodes_values", dtype)
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
            f"no node can be {mode!r:.40}",
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
            "not every node tracks missing values",
        )
        relations |= np.where(missing[inner] == 1, UNORDERED, 0).astype(np.int32)
    leaf = places.of(_ints(n, f"{weights}_treeids"), _ints(n, f"{weights}_nodeids"))
    targets, values = _by_leaf(
        -1 - number[leaf],
        _ints(n, f"{weights}_ids"),
        _floats(n, f"{weights}_weights", dtype),
        int(is_leaf.sum()),
    )
    first = np.flatnonzero(np.r_[True, tree[1:] != tree[:-1]])
    return finished(
        Tables(
            features[inner].astype(np.int32),
            limits[inner],
            relations,
            number[places.of(tree[inner], true[inner])],
            number[places.of(tree[inner], false[inner])],
            number[first],
            targets,
            values,
            0,
        )
    )


class _Places:
    """Where the node of a tree stands in the lists."""

    def __init__(self, tree: Array, own: Array) -> None:
        self._span = int(own.max(initial=0)) + 1
        require(
            own.min(initial=0) >= 0 and self._span * (int(tree.max(initial=0)) + 1) < 2**62,
            "E-OP-ATTRIBUTE",
            "numbers of nodes begin at 0",
        )
        keys = tree * self._span + own
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]
        twice = np.any(self._keys[1:] == self._keys[:-1])
        require(not twice, "E-OP-ATTRIBUTE", "two nodes of a tree have one number")

    def of(self, tree: Array, own: Array) -> Array:
        """The places of these nodes. Errors: E-OP-ATTRIBUTE when one is not there."""
        require(len(tree) == len(own), "E-OP-ATTRIBUTE", "a tree's lists differ in length")
        inside = (own >= 0) & (own < self._span)
        keys = np.where(inside, tree * self._span + own, -1)
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        found = np.all(self._keys[at] == keys)
        require(bool(found), "E-OP-ATTRIBUTE", "a tree names a node that it does not have")
        return self._order[at]


def _by_leaf(leaf: Array, target: Array, value: Array, n_leaves: int) -> tuple[Array, Array]:
    """Targets and weights as one row a leaf, in the order of the lists; -1 is no target."""
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
    return np.array(n.attr(name) or (), np.int64)


def _floats(n: OnnxCall, name: str, dtype: np.dtype[Any]) -> Array:
    """A list of numbers, which may be given as a tensor."""
    stored = n.attr(f"{name}_as_tensor")
    return np.array((n.attr(name) or ()) if stored is None else stored.array(), dtype)


# Opset 5: inner nodes and leaves apart


def split(n: OnnxCall, dtype: np.dtype[Any]) -> Tables:
    """The tables of a TreeEnsemble. Errors: E-OP-ATTRIBUTE."""
    modes = n.attr("nodes_modes").array()
    count = len(modes)
    limits = n.attr("nodes_splits").array().astype(dtype)
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
        n.attr("leaf_weights").array().astype(dtype),
    )
    roots = _ints(n, "tree_roots")
    require(
        len(targets) == len(weights) > 0,
        "E-OP-ATTRIBUTE",
        "every leaf has a target and a weight",
    )
    for to, leaf in ((yes, yes_leaf), (no, no_leaf), (roots, np.zeros_like(roots))):
        sizes = np.where(leaf != 0, len(targets), count)
        fits = bool(np.all((to >= 0) & (to < sizes)))
        require(fits, "E-OP-ATTRIBUTE", "a tree names a node that it does not have")
    require(
        int(modes.max(initial=0)) <= MEMBER,
        "E-OP-ATTRIBUTE",
        "a node has no known mode",
    )
    missing = _ints(n, "nodes_missing_value_tracks_true")
    relations = np.array([*MODES.values(), EQUAL], np.int32)[modes.astype(np.int64)]
    if len(missing):
        require(
            len(missing) == count,
            "E-OP-ATTRIBUTE",
            "not every node tracks missing values",
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
        0,
    )
    members = n.attr("membership_values")
    values = np.zeros(0, dtype) if members is None else members.array().astype(dtype)
    return finished(_with_members(tables, np.flatnonzero(modes == MEMBER), values))


def _with_members(tables: Tables, nodes: Array, values: Array) -> Tables:
    """Nodes that ask for a member of a set as chains of nodes that ask for one number each.

    The sets stand one after the other, each with a NaN at its end.
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
        "a node that asks for a member has no set",
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


# The operators


def _computed_in(x: Tensor) -> DType:
    """Doubles are compared with doubles, all else as f32."""
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
    base = _floats(n, "base_values", dtype.numpy)
    made = scores
    if len(base) == n_targets:
        made = add(scores, base)
        if not all(map(tables.always, range(n_targets))):
            # As ONNX Runtime has it: what no leaf has a weight for has no base value either.
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
        f"a tree ensemble cannot combine {n_targets} targets by {aggregate} and {transform}",
    )
    tables = split(n, dtype.numpy)
    scores = tables.scores(rows_of(x, dtype), n_targets, AGGREGATES[aggregate])
    made = transformed(scores, n_targets, TRANSFORMS[transform])
    return made if x.dtype is dtype else cast(made, to=x.dtype)


def as_f32(scores: Operand, dtype: DType) -> Operand:
    """Scores as f32, whatever they were computed in."""
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
    base = _floats(n, "base_values", dtype.numpy)
    votes = _Votes(rows_of(x, dtype), tables, base, labels, n.attr("post_transform", "NONE"))
    label, scores = votes.many() if len(labels.values) > 2 else votes.few()
    return label, as_f32(scores, dtype)


Hit = Operand | bool
"""Which rows a class gets scores in: all, none, or those where a column of bool is true."""


@dataclass(frozen=True)
class _Votes:
    """The scores of classes, as label and probabilities."""

    x: Operand
    tables: Tables
    base: Array
    labels: Labels
    transform: str

    def many(self) -> tuple[Operand, Operand]:
        """Three classes or more: the largest score wins, among those that got one."""
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
        """Two classes, which may share one column of scores, or a single one."""
        if len(self.labels.values) == 1:
            score = _plus(self.tables.scores(self.x, 1), self.base[:1])
            above = greater(squeeze(score, axes=(1,)), self._number(0))
            return cast(above, to=DType.i64), transformed(score, 1, self.transform)
        require(
            len(self.base) <= 2,
            "E-OP-ATTRIBUTE",
            "two classes take two base values at most",
        )
        scores = self.tables.scores(self.x, 2)
        hit0, hit1 = self._hits()
        none0, none1 = (gather(scores, np.array([c]), axis=1) for c in (0, 1))
        first, second = none0, none1  # 0 where a class gets no score
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
        """Whether a row gets a score for the first class, and for the second."""
        always = [self.tables.always(c) for c in (0, 1)]
        never = [not np.any(self.tables.targets == c) for c in (0, 1)]
        if all(a or n for a, n in zip(always, never, strict=True)):
            return always[0], always[1]
        found = self.tables.hits(self.x, 2)
        return gather(found, np.array([0]), axis=1), gather(found, np.array([1]), axis=1)

    @property
    def _is_one_sided(self) -> bool:
        """Whether all weights are for one of two classes."""
        return len(np.unique(self.tables.targets[self.tables.targets >= 0])) == 1

    @property
    def _is_positive(self) -> bool:
        return bool(np.all(self.tables.weights >= 0))

    def _shared(self, score: Operand) -> Operand:
        """Both columns from the only one that has scores."""
        complement = self._is_one_sided and self._is_positive
        return with_opposite(score, self.transform, complement=complement)

    def _label(self, score: Operand) -> Operand:
        """The label by the score that decides; scores for both classes give 0 and 1, or words."""
        limit = 0.5 if self._is_one_sided and self._is_positive else 0
        above = greater(score, self._number(limit))
        if self._is_one_sided or self.labels.are_words:
            return self.labels.second_where(above)
        return cast(above, to=DType.i64)

    def _number(self, value: float) -> Array:
        return np.asarray(value, self.tables.dtype)


def _pick(hit: Hit, then: Operand, otherwise: Operand) -> Operand:
    """`then` in the rows that are hit."""
    if isinstance(hit, bool):
        return then if hit else otherwise
    return where(hit, then, otherwise)


def _plus(scores: Operand, base: Array) -> Operand:
    return add(scores, base) if len(base) else scores
