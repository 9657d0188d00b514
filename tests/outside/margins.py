"""Margins for the effect of rounding on the results of a model, and its results in f64.

The method is that of compiler/check/margins.py, with ONNX Runtime: the model runs node by node,
with noise in the last places of all values. If noise changes a result, another order of roundings
may change it as much. If noise changes a comparison, both outcomes are right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, numpy_helper

from compiler.check.margins import FACTOR, NOISE
from tests.outside.bodies import run_bodies
from tests.outside.case import constants_of
from tests.outside.family import DRAWN
from tests.outside.peer import PeerRefused, free_names, run_node, run_onnx_reference
from tests.outside.values import FLOATS, Array, label_of, label_of_code, numpy_type

IN_F32 = (
    *("BlackmanWindow", "HannWindow", "HammingWindow", "LSTM", "GRU", "RNN"),
    *("GroupNormalization", "LayerNormalization", "RMSNormalization", "DFT"),
)
"""Operators that may compute in f32 for any type, with numbers around 1 that cancel.

The factors of a DFT are such numbers in ONNX Runtime, unless the length is a power of two.
"""

ABSOLUTE = ("Celu", "Elu", "Gelu", "Selu", "Sigmoid")
"""Operators that ONNX Runtime computes with an absolute error.

Sigmoid is 0 below about -18, and Gelu is 0 below about -5.6, because it multiplies by 1 + erf.
Celu, Elu and Selu are 0 between about -3e-8 and 0, because they subtract 1 from an exponential.
"""

STATISTICS = (
    *("InstanceNormalization", "MeanVarianceNormalization"),
    *("GroupNormalization", "LayerNormalization"),
)
"""Operators that subtract a mean."""

EPSILON_OF_MEAN_VARIANCE = 1e-9
"""The number that ONNX's MeanVarianceNormalization adds to the deviation."""

BY_COORDINATE = ("Resize", "GridSample", "RoiAlign")
"""Operators that compute coordinates in f32, whose errors move results in proportion."""

ELEMENTWISE = {op for op, drawn in DRAWN.items() if drawn.step.__module__.endswith("elementwise")}
"""Operators that round each element independently; all others add numbers that may cancel."""

FEW_RUNS, MANY_RUNS = 8, 64
"""Numbers of runs with noise; at least one run must change each doubtful decision. All of a few
runs round a tie in the same direction once in 256 cases, so failures are judged again with many
runs."""

EXACT = {
    *("Reshape", "Transpose", "Identity", "Slice", "Concat", "Split", "Squeeze", "Unsqueeze"),
    *("Flatten", "Expand", "Tile", "Gather", "GatherElements", "GatherND", "Pad", "Where"),
    *("Constant", "ConstantOfShape", "Max", "Min", "Relu", "Neg", "Abs", "Clip", "Ceil", "Floor"),
    *("Round", "Sign", "EyeLike", "Trilu", "OneHot", "Hardmax", "TopK", "Range", "Optional"),
    *("Compress", "Unique", "ReduceMax", "ReduceMin", "DepthToSpace", "SpaceToDepth"),
    *("SequenceConstruct", "SequenceAt", "SequenceInsert", "SequenceErase", "SplitToSequence"),
    *("ConcatFromSequence", "OptionalGetElement", "ReverseSequence", "MaxUnpool", "Shape"),
}
"""Operators that do not round and receive no additional noise."""


@dataclass(frozen=True)
class Margin:
    """The margin of each element of a result, and whether elements and shape are certain."""

    allowed: Array
    certain: Array
    shape_is_certain: bool = True


Place = tuple[str, int | None]
"""A tensor of the results: the name of the result, and the index in a sequence."""


def parts(name: str, value: Any) -> list[tuple[Place, Any]]:
    """Return the tensors of a result, with their places."""
    if not isinstance(value, list):
        return [((name, None), value)]
    tensors: list[Any] = value
    return [((name, k), v) for k, v in enumerate(tensors)]


def margins(
    model: ModelProto, feeds: Mapping[str, Any], expected: Mapping[str, Any], n_runs: int
) -> dict[Place, Margin]:
    """Return the margins by place, except for non-numeric results and uncertain shapes."""
    runs = [_placed(r) for r in (_shaken(model, feeds, k) for k in range(n_runs)) if r is not None]
    return {
        place: _margin(value, [r.get(place) for r in runs])
        for place, value in _placed(expected).items()
        if isinstance(value, np.ndarray) and value.dtype != object
    }


def _placed(results: Mapping[str, Any]) -> dict[Place, Any]:
    return {place: v for name, value in results.items() for place, v in parts(name, value)}


def _margin(value: Array, others: list[Any]) -> Margin:
    if any(np.shape(o) != value.shape for o in others):
        return Margin(np.full(value.shape, np.inf), np.zeros(value.shape, bool), False)
    same = np.logical_and.reduce([np.ones(value.shape, bool), *(o == value for o in others)])
    if label_of(value) not in FLOATS:
        return Margin(np.zeros(value.shape), np.asarray(same))
    wide = value.astype(np.float64)
    with np.errstate(all="ignore"):
        moved = [np.abs(o.astype(np.float64) - wide) for o in others]
        # Noise may leave the domain of a function: then no verdict is possible.
        most = np.nan_to_num(
            np.max([np.zeros(value.shape), *moved], axis=0), nan=np.inf, posinf=np.inf
        )
    info = ml_dtypes.finfo(value.dtype)
    scale = float(np.abs(wide).max(initial=0))
    allowed = FACTOR * most + 4 * float(info.eps) * scale + float(info.smallest_normal)
    return Margin(np.asarray(allowed), np.ones(value.shape, bool))


def _shaken(model: ModelProto, feeds: Mapping[str, Any], k: int) -> dict[str, Any] | None:
    chance = np.random.default_rng(k)
    values: dict[str, Any] = {n: _noisy(v, chance) for n, v in feeds.items()}
    values.update(constants_of(model.graph))
    try:
        _shake(model.graph.node, values, model.opset_import[0].version, chance)
    except PeerRefused:
        return None
    return {o.name: values[o.name] for o in model.graph.output}


def _shake(
    nodes: Iterable[NodeProto], values: dict[str, Any], opset: int, chance: np.random.Generator
) -> None:
    """Run nodes, and add their results to the values, with noise."""
    for node in nodes:
        made = _with_bodies(node, values, opset, chance) or run_node(node, values, opset)
        exact = node.op_type in EXACT or (node.op_type == "Cast" and _keeps(values, node))
        for name, value in zip((o for o in node.output if o), made, strict=True):
            values[name] = value if exact else _rounded(node, value, values, chance)


def _rounded(
    node: NodeProto, value: Any, values: Mapping[str, Any], chance: np.random.Generator
) -> Any:
    """Return a result of a node with noise; a sequence has the noise of its tensors."""
    if isinstance(value, list):
        parts: list[Any] = value
        return [_rounded(node, part, values, chance) for part in parts]
    least = max(
        _least(node, value), _least_of_statistics(node, values), _least_of_equation(node, values)
    )
    return _noisy(value, chance, least, _rounding_inside(node, values))


def _with_bodies(
    node: NodeProto, values: Mapping[str, Any], opset: int, chance: np.random.Generator
) -> list[Any] | None:
    """Run a control-flow node with noise after each node of its bodies; None for other nodes."""

    def run(body: GraphProto, given: Sequence[Any]) -> list[Any]:
        names = [v.name for v in body.input]
        inner = {**values, **constants_of(body), **dict(zip(names, given, strict=True))}
        _shake(body.node, inner, opset, chance)
        return [inner[o.name] for o in body.output]

    made = run_bodies(node, values, run)
    if made is None:
        return None
    return [value for value, used in zip(made, node.output, strict=False) if used]


def _least(node: NodeProto, value: Any) -> float:
    """Return the minimum noise of an operator, for numbers that cancel inside it."""
    if label_of(value) in FLOATS and node.op_type in ABSOLUTE:
        return NOISE * float(ml_dtypes.finfo(value.dtype).eps)
    if node.op_type in ELEMENTWISE or label_of(value) not in FLOATS:
        return 0.0
    scale = float(np.abs(value.astype(np.float64)).max(initial=0))
    least = NOISE * float(ml_dtypes.finfo(value.dtype).eps) * scale
    if node.op_type in BY_COORDINATE:
        least *= max(value.shape, default=1)
    return max(least, NOISE * float(np.finfo(np.float32).eps)) if _in_f32(node) else least


def _least_of_equation(node: NodeProto, values: Mapping[str, Any]) -> float:
    """Return the minimum noise of an Einsum, whose products may cancel in some orders only."""
    if node.op_type != "Einsum":
        return 0.0
    operands = [np.asarray(values[name]) for name in node.input]
    if any(label_of(x) not in FLOATS for x in operands):
        return 0.0
    largest = [np.abs(x.astype(np.float64)).max(initial=0) for x in operands]
    return NOISE * float(ml_dtypes.finfo(operands[0].dtype).eps) * float(np.prod(largest))


def _least_of_statistics(node: NodeProto, values: Mapping[str, Any]) -> float:
    """Return the minimum noise of a normalisation.

    It divides a difference to the mean by a deviation, which may be small compared to the mean.
    ONNX Runtime computes an instance norm as x k + (bias - mean k).
    """
    if node.op_type not in STATISTICS:
        return 0.0
    x = np.asarray(values[node.input[0]])
    if not x.size:
        return 0.0
    groups, epsilon = _groups(node, x.astype(np.float64))
    scale = np.asarray(values[node.input[1]]).astype(np.float64) if len(node.input) > 1 else 1.0
    with np.errstate(all="ignore"):
        deviation = np.sqrt(groups.var(axis=-1) + epsilon)
        terms = np.abs(groups).max(axis=-1, initial=0) / deviation
        largest = np.nan_to_num(terms).max(initial=0) * np.nan_to_num(np.abs(scale)).max(initial=0)
    dtype = np.float32 if _in_f32(node) and x.dtype == np.float64 else x.dtype
    return NOISE * float(ml_dtypes.finfo(dtype).eps) * float(largest)


def _groups(node: NodeProto, x: Array) -> tuple[Array, float]:
    """Return the elements that each mean is of, along the last axis, and the node's epsilon."""
    attributes = {a.name: a for a in node.attribute}
    epsilon = attributes["epsilon"].f if "epsilon" in attributes else 1e-5
    if node.op_type == "MeanVarianceNormalization":
        axes = tuple(attributes["axes"].ints) if "axes" in attributes else (0, 2, 3)
        last = np.moveaxis(x, axes, range(-len(axes), 0))
        n_kept = x.ndim - len(axes)
        return last.reshape(*last.shape[:n_kept], -1), EPSILON_OF_MEAN_VARIANCE**2
    if node.op_type == "LayerNormalization":
        first = (attributes["axis"].i if "axis" in attributes else -1) % x.ndim
        return x.reshape(*x.shape[:first], -1), epsilon
    if node.op_type == "GroupNormalization":
        return x.reshape(x.shape[0], attributes["num_groups"].i, -1), epsilon
    return x.reshape(*x.shape[:2], -1), epsilon


def _in_f32(node: NodeProto) -> bool:
    """Return whether an operator, or one in its bodies, may compute in f32."""
    bodies = (a.g for a in node.attribute if a.HasField("g"))
    return node.op_type in IN_F32 or any(_in_f32(n) for g in bodies for n in g.node)


def _rounding_inside(node: NodeProto, values: Mapping[str, Any]) -> float:
    """Return the unit of the narrowest float type in a node's bodies; 0 for none.

    ONNX Runtime computes such types in f32 and may omit a pair of casts.
    """
    bodies = [a.g for a in node.attribute if a.HasField("g")]
    if not bodies:
        return 0.0
    labels = {label_of(values[n]) for n in free_names(node)}
    labels |= {label_of_code(c) for body in bodies for c in _types_named(body)}
    return max(
        (float(ml_dtypes.finfo(numpy_type(n)).eps) for n in labels.intersection(FLOATS)),
        default=0.0,
    )


def _types_named(graph: GraphProto) -> Iterator[int]:
    """Yield the element types of constants and casts in a graph and its bodies."""
    yield from (t.data_type for t in graph.initializer)
    for node in graph.node:
        for a in node.attribute:
            if a.type == AttributeProto.TENSOR:
                yield a.t.data_type
            elif a.type == AttributeProto.GRAPH:
                yield from _types_named(a.g)
            elif a.name in TYPE_ATTRIBUTES:
                yield a.i


def _keeps(values: Mapping[str, Any], node: NodeProto) -> bool:
    return label_of(values[node.input[0]]) not in FLOATS


def _noisy(
    value: Any, chance: np.random.Generator, least: float = 0.0, rounding: float = 0.0
) -> Any:
    """Return the value with noise in the last places, or of at least the given roundings."""
    if isinstance(value, list):
        parts: list[Any] = value
        return [_noisy(v, chance, rounding=rounding) for v in parts]
    if value is None or label_of(value) not in FLOATS:
        return value
    size = NOISE * max(float(ml_dtypes.finfo(value.dtype).eps), rounding)
    wide = value.astype(np.float64)
    noise = chance.uniform(-1, 1, value.shape) * np.maximum(size * np.abs(wide), least)
    # Cancelling terms may have a sum of 0: then rounding decides whether an element is 0.
    cancelled = (np.abs(wide) < least) & (chance.random(value.shape) < 0.5)
    return np.asarray(np.where(cancelled, 0, wide + noise).astype(value.dtype))


# In f64


def wide_results(model: ModelProto, feeds: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the results of onnx.reference in f64; None if it fails."""
    wide = ModelProto.FromString(model.SerializeToString())
    _widen_graph(wide.graph)
    given = {n: _wide_value(v) for n, v in feeds.items()}
    return run_onnx_reference(wide, given)


NARROW_FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16)

TYPE_ATTRIBUTES = ("to", "dtype", "output_datatype")


def _wide_value(value: Any) -> Any:
    return value.astype(np.float64) if label_of(value) in FLOATS else value


def _widen_graph(graph: GraphProto) -> None:
    for tensor in graph.initializer:
        _widen_tensor(tensor)
    for value in [*graph.input, *graph.output]:
        if value.type.tensor_type.elem_type in NARROW_FLOATS:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    for node in graph.node:
        for a in node.attribute:
            if a.type == AttributeProto.TENSOR:
                _widen_tensor(a.t)
            elif a.type == AttributeProto.GRAPH:
                _widen_graph(a.g)
            elif a.name in TYPE_ATTRIBUTES and a.i in NARROW_FLOATS:
                a.i = TensorProto.DOUBLE


def _widen_tensor(tensor: TensorProto) -> None:
    if tensor.data_type in NARROW_FLOATS:
        array = numpy_helper.to_array(tensor).astype(np.float64)
        tensor.CopyFrom(numpy_helper.from_array(np.asarray(array), tensor.name))
