"""Function bodies of the ONNX standard, which decompose operators into declared operators.

The onnx package may have a function body for an operator. If an operator has a body and no
declaration accepts the node, the body is inlined; no foreign node is created.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from compiler.frontend.functions import normal_domain, walk
from compiler.frontend.opsets import newest
from compiler.frontend.precise_bodies import precise_body
from compiler.ir.operator import ONNX
from compiler.ir.types import DType, OpaqueType, TensorType, Type
from compiler.ops import protos
from compiler.ops.control_flow.control import CONTROL_FLOW
from compiler.ops.onnx_import.facets import facet_key

DEEPEST = 4
"""The maximum nesting depth of bodies; the standard needs two."""


def body_of(
    node: Any, attributes: Mapping[str, Any], opset: int, types: Sequence[Type | None]
) -> Any | None:
    """Return the function body of a node for operands of these types.

    Return None if the standard has no body, or if the body needs an operator without a declaration.
    If the operator itself has a declaration, also return None if the body has control flow or an
    operand has unknown rank. The declaration applies once the rank, or the parameter of the control
    flow, is known.
    """
    schema = protos.schema_of(node.op_type, normal_domain(node.domain), opset)
    if schema is None or not (schema.has_function or schema.has_context_dependent_function):
        return None
    if any(isinstance(t, OpaqueType) for t in types):
        return None
    function = _stated(schema, node, attributes, types)
    if function is None or not _is_ours(function, DEEPEST):
        return None
    is_declared = facet_key(node.op_type, normal_domain(node.domain)) in ONNX
    waits = any(map(_is_of_open_rank, types)) or any(map(_is_control_flow, function.node))
    if is_declared and waits:
        return None
    named = {normal_domain(o.domain) for o in function.opset_import}
    for domain in {normal_domain(n.domain) for n in walk(function.node)} - named:
        # Bodies of preview operators do not import their own operator set.
        function.opset_import.add(domain=domain, version=newest(domain))
    if any(map(_is_wide, types)):
        function = _widened(function, types)
    if not _is_typed(function, types):
        return None
    given = {a.name for a in function.attribute_proto}
    for key, a in schema.attributes.items():
        if a.default_value.type and key not in given:
            function.attribute_proto.add().CopyFrom(a.default_value)
    return function


def _stated(
    schema: Any, node: Any, attributes: Mapping[str, Any], types: Sequence[Type | None]
) -> Any | None:
    """Return the precise body, else the schema's body (fixed or for these types), else None."""
    import onnx

    precise = precise_body(schema.name) if not normal_domain(schema.domain) else None
    if precise is not None:
        return precise
    if schema.has_function:
        function = onnx.FunctionProto()
        function.CopyFrom(schema.function_body)
        return function
    asking = onnx.NodeProto()
    asking.CopyFrom(node)
    del asking.attribute[:]
    asking.attribute.extend(attributes.values())
    given = [onnx.TypeProto() if t is None else protos.to_type_proto(t) for t in types]
    try:
        made = schema.get_context_dependent_function(
            asking.SerializeToString(), [t.SerializeToString() for t in given]
        )
    except Exception:  # the package's C++ code raises several kinds of errors
        return None
    return onnx.FunctionProto.FromString(made) if made else None


def _is_of_open_rank(t: Type | None) -> bool:
    return isinstance(t, TensorType) and not t.is_ranked


def _is_wide(t: Type | None) -> bool:
    return isinstance(t, TensorType) and t.dtype is DType.f64


def _widened(function: Any, types: Sequence[Type | None]) -> Any:
    """Replace casts from f64 to f32 by casts to f64: f32 would halve the digits of ReduceL2.

    Return the body unchanged if its operators would otherwise mix types, or if its results would
    change their type.
    """
    import onnx

    before = _element_types(function, types)
    made = onnx.FunctionProto()
    made.CopyFrom(function)
    for node in made.node:
        for a in node.attribute if node.op_type == "Cast" else ():
            wide = before.get(node.input[0]) == onnx.TensorProto.DOUBLE
            if wide and a.name == "to" and a.i == onnx.TensorProto.FLOAT:
                a.i = onnx.TensorProto.DOUBLE
    try:
        after = _element_types(made, types, checked=True)
    except onnx.shape_inference.InferenceError:
        return function
    kept = all(before.get(o) == after.get(o) for o in made.output)
    return made if kept else function


def _is_typed(function: Any, types: Sequence[Type | None]) -> bool:
    """Return whether the body's operators accept the types that result from integer operands.

    Some bodies assume floats: the body of ReduceLogSum would apply Log to integers.
    """
    if not any(isinstance(t, TensorType) and t.dtype.is_integer for t in types):
        return True
    flows = _element_types(function, types)
    versions = {normal_domain(o.domain): int(o.version) for o in function.opset_import}
    return all(_takes(n, flows, versions) for n in function.node)


def _element_types(
    function: Any, types: Sequence[Type | None], checked: bool = False
) -> dict[str, int]:
    """Return the inferred element types of a body's values, in ONNX's encoding.

    With `checked`, inference raises onnx's InferenceError for incompatible operand types.
    """
    import onnx

    given = zip(function.input, types, strict=False)
    inputs = [
        onnx.ValueInfoProto(name=name, type=protos.to_type_proto(t))
        for name, t in given
        if isinstance(t, TensorType)
    ]
    graph = onnx.GraphProto(name="body", node=function.node, input=inputs)
    model = onnx.ModelProto(graph=graph, opset_import=function.opset_import, ir_version=10)
    inferred = onnx.shape_inference.infer_shapes(model, check_type=checked, strict_mode=checked)
    found = [*inputs, *inferred.graph.value_info]
    return {v.name: v.type.tensor_type.elem_type for v in found}


def _takes(node: Any, flows: Mapping[str, int], versions: Mapping[str, int]) -> bool:
    """Return whether the schema of a body's node admits the element types of its operands."""
    import onnx

    domain = normal_domain(node.domain)
    schema = protos.schema_of(node.op_type, domain, versions.get(domain) or newest(domain))
    if schema is None:
        return True
    for formal, name in zip(schema.inputs, node.input, strict=False):
        elem = flows.get(name, 0)
        label = onnx.TensorProto.DataType.Name(elem).lower() if elem else ""
        if label and formal.types and f"tensor({label})" not in formal.types:
            return False
    return True


def _is_ours(function: Any, depth: int) -> bool:
    """Return whether each node of a body has a declaration or a body of declared operators."""
    versions = {normal_domain(o.domain): int(o.version) for o in function.opset_import}
    return all(_is_known(n, versions, depth) for n in walk(function.node))


def _is_known(node: Any, versions: Mapping[str, int], depth: int) -> bool:
    op_type, domain = node.op_type, normal_domain(node.domain)
    if op_type == "Constant" or facet_key(op_type, domain) in ONNX:
        return True
    if _is_control_flow(node):
        return True
    if depth == 0:
        return False
    body = _fixed_body(op_type, domain, versions.get(domain, 0) or newest(domain))
    return body is not None and _is_ours(body, depth - 1)


def _is_control_flow(node: Any) -> bool:
    return protos.join_name(normal_domain(node.domain), node.op_type) in CONTROL_FLOW


@cache
def _fixed_body(op_type: str, domain: str, opset: int) -> Any | None:
    """Return an operator's function body if it does not depend on the types of operands."""
    schema = protos.schema_of(op_type, domain, opset)
    return schema.function_body if schema is not None and schema.has_function else None
