"""Random weights for models whose splat weights would hide errors.

The light models of the onnx package have no trained weights: every weight is a splat, so swapping
or dropping channels changes no result. `random_weights` writes an ordinary ONNX model with random
weights whose variances keep activations in range.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod, sqrt
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import numpy_helper

from compiler.errors import CompileError

Array = np.ndarray[Any, np.dtype[Any]]

_THROUGH = {"Identity", "Unsqueeze", "Squeeze", "Reshape", "Flatten", "Cast"}
"""Shape operators that may occur between a weight and its use."""

_RECTIFIERS = {"Relu", "LeakyRelu", "PRelu", "Clip", "HardSwish"}
_KEEP_SIGN = _THROUGH | {"Transpose", "MaxPool", "AveragePool", "Concat", "Dropout", "Pad"}

_FLOATS = {onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT16}


def random_weights(model: str | PathLike[str] | bytes, seed: int) -> bytes:
    """Replace every splat weight of a model by random numbers; retain other weights.

    Convolution and matrix weights are normally distributed with variance 1/fan-in, or 2/fan-in
    after a rectifier (He et al. 2015, arXiv:1502.01852). Random variances are positive, scales are
    near 1, and biases and means are near 0.
    Errors: E-MODEL-FILE, E-MODEL-PROTOBUF.
    """
    proto = _read(model)
    chance = np.random.default_rng(seed)
    splats = _splats(proto.graph)
    readers = _readers(proto.graph)
    producers = {o: n for n in proto.graph.node for o in n.output}
    splats.update(_normalisations(proto.graph, splats, producers))
    damped = _before_sums(proto.graph, readers)
    made: dict[str, onnx.TensorProto] = {}
    for name, splat in splats.items():
        use = next(_roles(name, readers), None)
        values = None if use is None else _values(splat, use, chance)
        if use is None or values is None:
            continue
        node, position = use
        if position == 1 and node.op_type in {"Conv", "ConvTranspose"}:
            values = values * sqrt(2 if _is_rectified(node.input[0], producers) else 1)
        if position == 1 and node.output[0] in damped:
            values = values / 3
        made[name] = numpy_helper.from_array(values.astype(splat.dtype), name)
    _replace(proto, made)
    return proto.SerializeToString()


def _read(model: str | PathLike[str] | bytes) -> onnx.ModelProto:
    try:
        data = model if isinstance(model, bytes) else Path(model).read_bytes()
    except OSError as e:
        raise CompileError("E-MODEL-FILE", f"{model}: {e.strerror or e}") from e
    try:
        return onnx.load_model_from_string(data)
    except DecodeError as e:
        raise CompileError("E-MODEL-PROTOBUF", f"the bytes are not an ONNX model: {e}") from e


def _splats(graph: onnx.GraphProto) -> dict[str, Array]:
    """Return the splat weights by name, as views of one element."""
    stored = {t.name: t for t in graph.initializer}
    found: dict[str, Array] = {}
    for node in graph.node:
        if node.op_type == "ConstantOfShape" and node.input[0] in stored:
            value = next((a.t for a in node.attribute if a.name == "value"), None)
            if value is None or value.data_type not in _FLOATS:
                continue
            shape = tuple(int(d) for d in numpy_helper.to_array(stored[node.input[0]]))
            element = numpy_helper.to_array(value).reshape(-1)[0]
            found[node.output[0]] = np.broadcast_to(element, shape)
    for t in stored.values():
        if t.data_type in _FLOATS and prod(t.dims) > 1 and not t.external_data:
            array = numpy_helper.to_array(t)
            if (array == array.reshape(-1)[0]).all():
                found[t.name] = array
    return {name: a for name, a in found.items() if a.size > 1}


def _normalisations(
    graph: onnx.GraphProto, splats: dict[str, Array], producers: dict[str, onnx.NodeProto]
) -> dict[str, Array]:
    """Return random parameters for batch normalisations directly after nodes with splat weights."""
    stored = {t.name: t for t in graph.initializer}
    found: dict[str, Array] = {}
    for node in graph.node:
        before = producers.get(node.input[0]) if node.input else None
        if node.op_type != "BatchNormalization" or before is None:
            continue
        if len(before.input) > 1 and before.input[1] in splats:
            found.update({p: numpy_helper.to_array(stored[p]) for p in node.input if p in stored})
    return found


Use = tuple[onnx.NodeProto, int]
"""A node that reads a value, and the position of the operand."""


def _readers(graph: onnx.GraphProto) -> dict[str, list[Use]]:
    found: dict[str, list[Use]] = {}
    for node in graph.node:
        for position, name in enumerate(node.input):
            found.setdefault(name, []).append((node, position))
    return found


def _roles(name: str, readers: dict[str, list[Use]]) -> Iterator[Use]:
    """Yield the uses of a weight, including uses through shape operators."""
    for node, position in readers.get(name, ()):
        if node.op_type in _THROUGH and position == 0:
            yield from _roles(node.output[0], readers)
        else:
            yield node, position


def _is_rectified(value: str, producers: dict[str, onnx.NodeProto]) -> bool:
    """Return whether a rectifier has set about half of a value's elements to 0."""
    seen = 0
    while value in producers and seen < 20:
        node = producers[value]
        if node.op_type in _RECTIFIERS:
            return True
        if node.op_type not in _KEEP_SIGN:
            return False
        value, seen = node.input[0], seen + 1
    return False


def _before_sums(graph: onnx.GraphProto, readers: dict[str, list[Use]]) -> set[str]:
    """Return the outputs of scaling nodes that are added to another activation.

    In a chain of residual blocks, each addition would double the variance; a scale of 1/3 keeps
    activations in range.
    """
    constant = {t.name for t in graph.initializer}
    for node in graph.node:
        if node.op_type in {"ConstantOfShape", "Constant"} or (
            node.op_type in _THROUGH and node.input[0] in constant
        ):
            constant.update(node.output)
    return {
        node.output[0]
        for node in graph.node
        if node.op_type in {"Conv", "BatchNormalization"}
        and any(
            reader.op_type in {"Add", "Sum"} and not constant.intersection(reader.input)
            for reader, _ in readers.get(node.output[0], ())
        )
    }


def _values(splat: Array, use: Use, chance: np.random.Generator) -> Array | None:
    """Draw random numbers for a weight, depending on its role; None for an unknown role."""
    node, position = use
    shape = splat.shape
    match node.op_type, position:
        case ("Conv" | "ConvInteger", 1):
            return _normal(shape, 1 / max(prod(shape[1:]), 1), chance)
        case "ConvTranspose", 1:
            return _normal(shape, 1 / max(shape[0], 1), chance)
        case ("Gemm" | "MatMul", 0 | 1):
            # Half the gain of a convolution: a saturated softmax would hide errors.
            return _normal(shape, 0.5 / max(_contracted(node, position, shape), 1), chance)
        case ("LSTM" | "GRU" | "RNN", 1 | 2):
            return _normal(shape, 1 / max(shape[-1], 1), chance)
        case ("BatchNormalization", 4):
            return chance.uniform(0.9, 1.3, shape)
        case ("BatchNormalization" | "InstanceNormalization" | "LayerNormalization", 1):
            return chance.uniform(0.8, 1.2, shape)
        case (("Mul" | "Div"), _):
            return chance.uniform(0.8, 1.2, shape)
        case "PRelu", 1:
            return chance.uniform(0.1, 0.4, shape)
        case ("Add" | "Sub" | "Sum" | "Conv" | "ConvTranspose" | "Gemm", _):
            return _normal(shape, 0.01, chance)
        case (
            "BatchNormalization" | "InstanceNormalization" | "LayerNormalization"
            | "LSTM" | "GRU" | "RNN",
            2 | 3,
        ):  # fmt: skip
            return _normal(shape, 0.01, chance)
        case _:
            return None


def _normal(shape: tuple[int, ...], variance: float, chance: np.random.Generator) -> Array:
    return chance.standard_normal(shape, np.float32) * np.float32(sqrt(variance))


def _contracted(node: onnx.NodeProto, position: int, shape: tuple[int, ...]) -> int:
    """Return the size of the reduced axis of a matrix."""
    if len(shape) < 2:
        return prod(shape)
    flag = "transA" if position == 0 else "transB"
    transposed = any(a.name == flag and a.i for a in node.attribute)
    return shape[-1] if (position == 0) != transposed else shape[-2]


def _replace(proto: onnx.ModelProto, made: dict[str, onnx.TensorProto]) -> None:
    graph = proto.graph
    kept_nodes = [
        n for n in graph.node if n.op_type != "ConstantOfShape" or n.output[0] not in made
    ]
    read = {i for n in kept_nodes for i in n.input} | {o.name for o in graph.output}
    kept = [t for t in graph.initializer if t.name not in made and t.name in read]
    # A weight listed as an input can be overridden, so runtimes must not fold it.
    stored = {t.name for t in graph.initializer}
    inputs = [v for v in graph.input if v.name not in stored]
    graph.ClearField("node")
    graph.node.extend(kept_nodes)
    graph.ClearField("initializer")
    graph.initializer.extend([*kept, *made.values()])
    graph.ClearField("input")
    graph.input.extend(inputs)
    # Before IR version 4, every stored weight also had to be an input.
    proto.ir_version = max(proto.ir_version, 4)
