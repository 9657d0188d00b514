"""Corrections of loop bodies whose declared inputs contradict the loop's operands."""

from __future__ import annotations

from collections.abc import Sequence

import onnx
from onnx import helper

from compiler.frontend.types import DimNames
from compiler.ir.types import TensorType, Type


def with_scalar_inputs(body: onnx.GraphProto) -> onnx.GraphProto:
    """Make the iteration number and the condition of a Loop's body scalars, as in the standard.

    TorchScript's exporter declares the iteration number as `int64[1]` if the trip count has the
    shape [1], and ONNX Runtime follows the declaration. The importer instead adds a Reshape to the
    body, which converts the scalar to a list of one element.
    """
    lists = [v for v in body.input[:2] if _is_list(v)]
    if not lists:
        return body
    made = onnx.GraphProto()
    made.CopyFrom(body)
    shape = f"{body.input[0].name}.as_list"
    made.initializer.append(helper.make_tensor(shape, onnx.TensorProto.INT64, [1], [1]))
    reshapes: list[onnx.NodeProto] = []
    for v in made.input[:2]:
        if _is_list(v):
            reshapes.append(helper.make_node("Reshape", [f"{v.name}.scalar", shape], [v.name]))
            v.name = f"{v.name}.scalar"
            v.type.tensor_type.shape.ClearField("dim")
    nodes = [*reshapes, *made.node]
    made.ClearField("node")
    made.node.extend(nodes)
    return made


def with_open_states(
    body: onnx.GraphProto, states: Sequence[Type | None], dims: DimNames
) -> onnx.GraphProto:
    """Make the declared sizes of a Loop's states open if they may depend on sizes of model inputs.

    The model file records state sizes for one set of inputs. ONNX Runtime uses the sizes of the
    initial states instead.
    """
    wrong = [
        (n, k)
        for n, (v, t) in enumerate(zip(body.input[2:], states, strict=False))
        for k in _wrong_axes(v, t, dims)
    ]
    if not wrong:
        return body
    made = onnx.GraphProto()
    made.CopyFrom(body)
    for n, k in wrong:
        made.input[2 + n].type.tensor_type.shape.dim[k].Clear()
    return made


def _wrong_axes(v: onnx.ValueInfoProto, state: Type | None, dims: DimNames) -> list[int]:
    """Return the axes whose recorded size is a number, but whose actual size may vary."""
    stated = v.type.tensor_type.shape.dim
    numbers = [k for k, size in enumerate(stated) if size.HasField("dim_value")]
    if not isinstance(state, TensorType) or state.shape is None:
        return numbers if dims.declared else []
    if len(stated) != state.rank:
        return []
    return [k for k in numbers if dims.may_vary(state.shape[k])]


def _is_list(v: onnx.ValueInfoProto) -> bool:
    shape = v.type.tensor_type.shape
    return v.type.tensor_type.HasField("shape") and len(shape.dim) == 1
