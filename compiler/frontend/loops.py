"""Bodies of loops whose step number is declared as a list of one element."""

from __future__ import annotations

import onnx
from onnx import helper


def with_scalar_inputs(body: onnx.GraphProto) -> onnx.GraphProto:
    """The body of a Loop with a scalar step number and condition, as the standard has them.

    TorchScript's exporter declares `int64[1]` where the trip count is such a list, and ONNX Runtime
    gives what is declared. Here a Reshape inside the body makes the list.
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


def _is_list(v: onnx.ValueInfoProto) -> bool:
    shape = v.type.tensor_type.shape
    return v.type.tensor_type.HasField("shape") and len(shape.dim) == 1
