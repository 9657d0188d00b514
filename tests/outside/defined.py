"""A test whether the standard defines the result of a node, for inputs of other sizes.

A draft contains no undefined results: integer divisors are constants. With other sizes, the result
of a node may still be undefined, and ONNX Runtime does not detect all such cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import NodeProto, helper

from tests.outside.draft import within
from tests.outside.values import FLOATS, INTEGERS, label_of, label_of_code

Values = Mapping[str, Any]


def is_defined(node: NodeProto, values: Values) -> bool:
    """Return whether the standard defines the result of a node for these values.

    Values inside bodies are unknown here, so bodies must not depend on matching sizes.
    """
    if any(_needs_sizes(n) for n in _inner(node)):
        return False
    check = _CHECKS.get(node.op_type)
    return check is None or check(node, values)


def _elements_are_as_declared(node: NodeProto, values: Values) -> bool:
    """Return whether the elements of a SequenceMap have the sizes that its body declares."""
    body = next(a.g for a in node.attribute if a.HasField("g"))
    for name, declared in zip(node.input, body.input, strict=True):
        value: Any = values[name]
        sizes = [d.dim_value for d in declared.type.tensor_type.shape.dim]
        for element in value if isinstance(value, list) else [value]:
            if len(sizes) != element.ndim or any(
                s not in (0, n) for s, n in zip(sizes, element.shape, strict=True)
            ):
                return False
    return True


def _inner(node: NodeProto) -> Iterator[NodeProto]:
    for attribute in node.attribute:
        yield from attribute.g.node if attribute.HasField("g") else ()


def _needs_sizes(node: NodeProto) -> bool:
    return node.op_type in _OF_SHAPES or any(map(_needs_sizes, _inner(node)))


def windows_fit(kernel: Sequence[int], sizes: Sequence[int], attributes: Mapping[str, Any]) -> bool:
    """Return whether no window is larger than the padded image.

    For larger windows the standard defines no results in pooling; ONNX Runtime rounds to 0 and
    gives one result.
    """
    n = len(kernel)
    if attributes.get("auto_pad", "").startswith("SAME"):
        return True
    pads = attributes.get("pads", [0] * 2 * n)
    dilations = attributes.get("dilations", [1] * n)
    return all(
        size + pads[i] + pads[n + i] >= dilations[i] * (k - 1) + 1
        for i, (k, size) in enumerate(zip(kernel, sizes, strict=True))
    )


def sum_is_held(op: str, x: Any) -> bool:
    """Return whether an integer type and f64 can represent a sum or norm.

    ONNX Runtime saturates the sums of some integer types, and adds others in f64.
    """
    if label_of(x) not in INTEGERS or op not in SUMS:
        return True
    sizes = np.abs(x.astype(np.float64))
    squared = op in ("ReduceSumSquare", "ReduceL2")
    total = float(np.sum(sizes**2 if squared else sizes))
    return (total**0.5 if op == "ReduceL2" else total) < min(np.iinfo(x.dtype).max, 2**53)


def product_is_held(x: Any, axes: Sequence[int]) -> bool:
    """Return whether no order of multiplication of these elements overflows or underflows.

    ONNX Runtime multiplies i64 in f64.
    """
    label = label_of(x)
    if label not in (*FLOATS, *INTEGERS) or not np.size(x):
        return True
    sizes = np.abs(x.astype(np.float64))
    with np.errstate(all="ignore"):
        powers = np.abs(
            np.log2(sizes, where=(sizes > 0) & np.isfinite(sizes), out=np.zeros(x.shape))
        )
    most = float(np.sum(powers, axis=tuple(axes) or None).max(initial=0))
    if label in INTEGERS:
        return most < math.log2(min(np.iinfo(x.dtype).max, 2**53))
    return most < (10 if label == "f16" else 100)


def pairs_are_held(x: Any, weights: Any) -> bool:
    """Return whether i16 can represent the sum of two products of u8 and i8.

    ONNX Runtime saturates these sums on processors with AVX2 and without VNNI.
    """
    if {label_of(x), label_of(weights)} != {"u8", "i8"}:
        return True
    signed = weights if label_of(weights) == "i8" else x
    largest = int(np.abs(signed.astype(np.int32)).max(initial=0))
    return 2 * 255 * largest <= np.iinfo(np.int16).max


SUMS = ("ReduceSum", "ReduceL1", "ReduceL2", "ReduceSumSquare")


def _attributes(node: NodeProto) -> dict[str, Any]:
    found = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    return {k: v.decode() if isinstance(v, bytes) else v for k, v in found.items()}


def _cast_is_in_range(node: NodeProto, values: Values) -> bool:
    x, label = values[node.input[0]], label_of_code(_attributes(node)["to"])
    if label_of(x) not in FLOATS or label not in INTEGERS:
        return True
    return within(x, 0.0 if label[0] == "u" else -100.0, 100.0)


def _loss_has_a_class_for_each(node: NodeProto, values: Values) -> bool:
    n, _, *rest = np.shape(values[node.input[0]])
    return np.shape(values[node.input[1]]) == (n, *rest)


def _each_channel_has_a_scale(node: NodeProto, values: Values) -> bool:
    """Return whether scales are per channel, as since opset 21; scales per group stay as drawn."""
    x, *others = (np.shape(values[i]) for i in node.input)
    return all(o == (x[1],) for o in others)


def _batches_are_alike(node: NodeProto, values: Values) -> bool:
    x, index = (np.shape(values[i]) for i in node.input)
    n = _attributes(node).get("batch_dims", 0)
    return x[:n] == index[:n]


def _axes_are_right(node: NodeProto, values: Values) -> bool:
    """Return whether axes are distinct, and not negative for empty tensors (the peer's bugs)."""
    x = values[node.input[0]]
    named = values[node.input[1]] if len(node.input) > 1 and node.input[1] else ()
    axes = [int(a) for a in (*np.ravel(named), *_attributes(node).get("axes", ()))]
    if x.size == 0 and any(a < 0 for a in axes):
        return False
    return len({a % max(1, x.ndim) for a in axes}) == len(axes)


def _has_elements(node: NodeProto, values: Values) -> bool:
    """Return whether there is an element to find; ONNX Runtime misinterprets negative axes."""
    return values[node.input[0]].size > 0


def _reduction_is_defined(node: NodeProto, values: Values) -> bool:
    x = values[node.input[0]]
    held = sum_is_held(node.op_type, x)
    if node.op_type == "ReduceProd":
        held = product_is_held(x, range(np.ndim(x)))
    return _axes_are_right(node, values) and held


def _parts_meet(node: NodeProto, values: Values) -> bool:
    """Return whether sizes of empty parts match, which ONNX Runtime does not check."""
    shapes = [list(np.shape(values[i])) for i in node.input]
    for shape in shapes:
        shape[_attributes(node)["axis"]] = 0
    return all(shape == shapes[0] for shape in shapes)


def _pool_fits(node: NodeProto, values: Values) -> bool:
    attributes = _attributes(node)
    return windows_fit(attributes["kernel_shape"], np.shape(values[node.input[0]])[2:], attributes)


def _integer_pairs_are_held(node: NodeProto, values: Values) -> bool:
    second = 3 if node.op_type.startswith("QLinear") else 1
    return pairs_are_held(values[node.input[0]], values[node.input[second]])


def _rotated_pairs_are_whole(node: NodeProto, values: Values) -> bool:
    """Return whether the numbers of a head form pairs, and each pair has an angle."""
    x, angles = (np.shape(values[i]) for i in node.input[:2])
    attributes = _attributes(node)
    size = x[-1] if len(x) == 4 else x[-1] // max(1, attributes.get("num_heads", 1))
    return 2 * angles[-1] == (attributes.get("rotary_embedding_dim", 0) or size)


_OF_SHAPES: dict[str, Callable[[NodeProto, Values], bool]] = {
    "NegativeLogLikelihoodLoss": _loss_has_a_class_for_each,
    "SoftmaxCrossEntropyLoss": _loss_has_a_class_for_each,
    "GroupNormalization": _each_channel_has_a_scale,
    "GatherND": _batches_are_alike,
    "RotaryEmbedding": _rotated_pairs_are_whole,
    **dict.fromkeys(("MaxPool", "AveragePool", "LpPool"), _pool_fits),
}
_REDUCTIONS = [
    f"Reduce{n}" for n in "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare".split()
]
_CHECKS = {
    **_OF_SHAPES,
    "Cast": _cast_is_in_range,
    **dict.fromkeys(("ArgMax", "ArgMin"), _has_elements),
    "Concat": _parts_meet,
    "SequenceMap": _elements_are_as_declared,
    **dict.fromkeys(("MatMulInteger", "QLinearConv", "QLinearMatMul"), _integer_pairs_are_held),
    **dict.fromkeys(_REDUCTIONS, _reduction_is_defined),
}
