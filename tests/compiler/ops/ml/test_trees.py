"""Tests of all tree ensembles against ONNX Runtime, with its own rules for two classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

import compiler
from compiler.errors import CompileError
from compiler.ops.ml.trees import MODES
from tests.ml_models import check, one_node, same

Tree = tuple[Any, Any] | None
"""The two branches of an inner node, or a leaf."""


def grown(rng: np.random.Generator, depth: int) -> Tree:
    if depth == 0 or rng.random() < 0.25:
        return None
    return grown(rng, depth - 1), grown(rng, depth - 1)


def listed(
    rng: np.random.Generator, n_classes: int, modes: list[str], word: str, *, dense: bool
) -> dict[str, list[Any]]:
    """Return the attributes of three random trees over three features."""
    nodes = ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")
    a: dict[str, list[Any]] = {f"nodes_{k}": [] for k in nodes}
    a |= {f"{word}_{k}": [] for k in ("treeids", "nodeids", "ids", "weights")}

    def add(tree: int, part: Tree, number: list[int]) -> int:
        own, at = number[0], len(a["nodes_treeids"])
        number[0] += 1
        mode = "LEAF" if part is None else str(rng.choice(modes))
        limit = float(rng.integers(-2, 3)) / 2
        row = (tree, own, int(rng.integers(3)), limit, mode, 0, 0)
        for k, v in zip(nodes, row, strict=True):
            a[f"nodes_{k}"].append(v)
        if part is None:
            for c in range(n_classes) if dense else [int(rng.integers(n_classes))]:
                leaf = (tree, own, c, float(np.float32(rng.normal())))
                for k, v in zip(("treeids", "nodeids", "ids", "weights"), leaf, strict=True):
                    a[f"{word}_{k}"].append(v)
            return own
        a["nodes_truenodeids"][at] = add(tree, part[0], number)
        a["nodes_falsenodeids"][at] = add(tree, part[1], number)
        return own

    for tree in range(3):
        add(tree, grown(rng, 4) or (None, None), [0])
    return a


def rows(rng: np.random.Generator, *, dtype: Any = np.float32, missing: bool = False) -> Any:
    x = rng.integers(-3, 4, (6, 3)).astype(dtype)
    if missing:
        x[rng.random(x.shape) < 0.3] = np.nan
    return x / 2 if np.issubdtype(dtype, np.floating) else x


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("modes", [["BRANCH_LEQ"], ["BRANCH_NEQ"], list(MODES)])
def test_classes_of_random_trees(modes: list[str], missing: bool) -> None:
    rng = np.random.default_rng(len(modes) + missing)
    attrs = listed(rng, 3, modes, "class", dense=missing)
    if missing:
        tracked = rng.integers(0, 2, len(attrs["nodes_modes"])).tolist()
        attrs["nodes_missing_value_tracks_true"] = tracked
    x = rows(rng, missing=missing)
    model = one_node(
        "TreeEnsembleClassifier",
        {"x": x},
        ["label_i", "scores_f"],
        classlabels_int64s=[7, -2, 5],
        post_transform="SOFTMAX",
        **attrs,
    )
    check(model, {"x": x}, fallbacks=0)


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
@pytest.mark.parametrize(
    ("n_targets", "transform"), [(1, "LOGISTIC"), (2, "LOGISTIC"), (3, "NONE")]
)
def test_targets_of_random_trees(n_targets: int, transform: str, aggregate: str) -> None:
    rng = np.random.default_rng(n_targets)
    x = rows(rng)
    model = one_node(
        "TreeEnsembleRegressor",
        {"x": x},
        ["y_f"],
        n_targets=n_targets,
        aggregate_function=aggregate,
        post_transform=transform,
        base_values=[0.5, -1.25, 2.0][:n_targets],
        **listed(rng, n_targets, list(MODES), "target", dense=False),
    )
    check(model, {"x": x})


def test_whole_numbers_and_doubles_as_tensors() -> None:
    rng = np.random.default_rng(8)
    attrs = listed(rng, 3, ["BRANCH_LT"], "class", dense=True)
    for dtype in (np.int64, np.float64):
        x = rows(rng, dtype=dtype)
        if dtype is np.float64:
            for k in ("nodes_values", "class_weights"):
                values = np.array(attrs.pop(k)) + 1e-12
                attrs[f"{k}_as_tensor"] = numpy_helper.from_array(values)
            attrs["base_values_as_tensor"] = numpy_helper.from_array(np.array([0.5, 0.25, -1]))
        model = one_node(
            "TreeEnsembleClassifier",
            {"x": x},
            ["label_i", "scores_f"],
            classlabels_int64s=[0, 1, 2],
            **attrs,
        )
        check(model, {"x": x}, fallbacks=0)


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"])
@pytest.mark.parametrize("base", [[], [0.3], [0.2, -0.1]])
@pytest.mark.parametrize("classes", [[0], [1], [0, 1], [0, 0, 1]])
def test_two_classes_may_share_a_column(
    classes: list[int], base: list[float], transform: str
) -> None:
    """For rows in which one class has no score, and models in which only one class has scores."""
    if len(classes) > 2 and len(base) == 1:
        base = []  # otherwise ONNX Runtime leaves memory unwritten for the second class
    rng = np.random.default_rng(4)
    attrs = listed(rng, 1, ["BRANCH_LEQ"], "class", dense=False)
    count = len(attrs["class_ids"])
    attrs["class_ids"] = [classes[i % len(classes)] for i in range(count)]
    if transform != "LOGISTIC":
        attrs["class_weights"] = [abs(w) / 4 for w in attrs["class_weights"]]
    if base:
        attrs["base_values"] = base
    words = classes == [0, 1]
    labels = {"classlabels_strings": ["no", "yes"]} if words else {"classlabels_int64s": [5, 9]}
    x = rows(rng)
    model = one_node(
        "TreeEnsembleClassifier",
        {"x": x},
        ["label_i", "scores_f"],
        strings=["label_i"] if words else [],
        post_transform=transform,
        **labels,
        **attrs,
    )
    # ONNX Runtime does not write the second column of PROBIT.
    fallbacks = int(words) if transform == "NONE" else None
    columns = 1 if transform == "PROBIT" else None
    check(model, {"x": x}, fallbacks=fallbacks, columns=columns)


def members(x: Any, roots: list[int], **more: Any) -> onnx.ModelProto:
    """Return two trees in the form of opset 5: x1 in {1, 3}, then x0 < 0.5; and x2 in {2}."""
    return one_node(
        "TreeEnsemble",
        {"x": x},
        ["y_d" if x.dtype == np.float64 else "y_f"],
        opset=5,
        n_targets=2,
        nodes_featureids=[1, 0, 2],
        nodes_splits=numpy_helper.from_array(np.array([0, 0.5, 0], x.dtype)),
        nodes_modes=numpy_helper.from_array(np.array([6, 1, 6], np.uint8)),
        nodes_truenodeids=[1, 0, 3],
        nodes_trueleafs=[0, 1, 1],
        nodes_falsenodeids=[1, 2, 4],
        nodes_falseleafs=[1, 1, 1],
        leaf_targetids=[0, 1, 0, 1, 1],
        leaf_weights=numpy_helper.from_array(np.array([0.5, -1, 2, 4, -8], x.dtype)),
        membership_values=numpy_helper.from_array(np.array([1, 3, np.nan, 2, np.nan], x.dtype)),
        tree_roots=roots,
        **more,
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("aggregate", range(4))
def test_sets_of_members(aggregate: int, dtype: Any) -> None:
    x = np.array([[0, 1, 2], [1, 3, 5], [0, 2, 2], [1, 3, 2], [np.nan, np.nan, 0]], dtype)
    tracked = [0, 1, 1] if aggregate % 2 else [1, 0, 0]
    model = members(
        x, [0, 2], aggregate_function=aggregate, nodes_missing_value_tracks_true=tracked
    )
    check(model, {"x": x}, fallbacks=0 if aggregate == 1 else None)


def test_the_transforms_of_opset_5_have_the_numbers_of_the_standard() -> None:
    """ONNX Runtime 1.31 uses 1 for LOGISTIC and 2 for SOFTMAX."""
    x = np.array([[0, 1, 2], [1, 3, 5]], np.float32)
    plain = ReferenceEvaluator(members(x, [0, 2])).run(None, {"x": x})[0]
    softmax = np.exp(plain) / np.exp(plain).sum(axis=1, keepdims=True)
    for transform, needed in ((1, softmax), (2, 1 / (1 + np.exp(-plain)))):
        model = members(x, [0, 2], post_transform=transform)
        got = compiler.compile(model.SerializeToString()).run({"x": x})["y_f"]
        same(got, needed.astype(np.float32))


def test_half_floats_keep_their_type() -> None:
    x = np.array([[0, 1, 2], [1, 3, 5]], np.float16)
    model = members(x, [0])
    model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT16
    got = compiler.compile(model.SerializeToString()).run({"x": x})["y_f"]
    assert got.dtype == np.float16
    assert got.tolist() == [[0.5, 0], [2, 0]]


def test_words_are_no_thresholds() -> None:
    x = np.zeros((2, 3), np.float32)
    model = members(x, [0])
    splits = next(a for a in model.graph.node[0].attribute if a.name == "nodes_splits")
    splits.t.CopyFrom(numpy_helper.from_array(np.array(["a", "b", "c"], np.object_)))
    with pytest.raises(CompileError, match=r"string\[3\]"):
        compiler.compile(model.SerializeToString()).run({"x": x})


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"nodes_truenodeids": [0, 0, 0]}, "cycle"),
        ({"nodes_truenodeids": [7, 0, 0]}, "does not have"),
        ({"nodes_nodeids": [0, 1, 1]}, "same number"),
        ({"nodes_modes": ["BRANCH_ODD", "LEAF", "LEAF"]}, "BRANCH_ODD"),
        ({"nodes_values": [0.5]}, "differ in length"),
        ({"target_nodeids": [1, 5]}, "does not have"),
        ({"target_weights": [1.0]}, "differ in length"),
        ({"n_targets": 0}, "targets"),
        ({"target_ids": [0, 1]}, "target outside"),
        ({"nodes_featureids": [2**40, 0, 0], "target_ids": [0, 2**40]}, "target outside"),
        ({"post_transform": "CUBIC"}, "CUBIC"),
    ],
)
def test_trees_that_are_none(change: dict[str, Any], fault: str) -> None:
    attrs: dict[str, Any] = {
        "n_targets": 1,
        "nodes_treeids": [0, 0, 0],
        "nodes_nodeids": [0, 1, 2],
        "nodes_featureids": [2, 0, 0],
        "nodes_values": [0.5, 0.0, 0.0],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_truenodeids": [1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0],
        "target_treeids": [0, 0],
        "target_nodeids": [1, 2],
        "target_ids": [0, 0],
        "target_weights": [1.0, 2.0],
    }
    x = np.zeros((2, 3), np.float32)
    model = one_node("TreeEnsembleRegressor", {"x": x}, ["y_f"], **{**attrs, **change})
    with pytest.raises(CompileError, match=fault):
        compiler.compile(model.SerializeToString()).run({"x": x})
