"""The export of foreign nodes, unchanged or by onnx's version converter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from compiler.errors import CompileError
from compiler.export.scope import Model, Scope
from compiler.ir.graph import Graph, Node
from compiler.ops import protos
from compiler.ops.control_flow.control import CONTROL_FLOW, is_batched

WriteGraph = Callable[[Model, Graph, Scope], Any]


def write_foreign(
    scope: Scope, node: Node, outputs: Sequence[str], write_graph: WriteGraph
) -> None:
    """Write a foreign node with its regions as subgraphs.

    Errors: E-EXPORT-OPSET if the semantics of the node's operator differ in the exported version.
    """
    import onnx

    inputs = [scope.value(i) for i in node.inputs]
    if not _means_the_same(scope.model, node):
        _converted(scope, node, inputs, outputs)
        return
    proto = protos.to_node_proto(replace(node, regions={}))
    for key, region in node.regions.items():
        attribute = onnx.AttributeProto(name=key, type=onnx.AttributeProto.GRAPH)
        attribute.g.CopyFrom(write_graph(scope.model, region, scope))
        proto.attribute.append(attribute)
    scope.node(
        proto.op_type,
        inputs,
        outputs,
        domain=proto.domain,
        name=node.name,
        origins=node.origins,
        attributes=proto.attribute,
    )


def _means_the_same(model: Model, node: Node) -> bool:
    """Return whether an operator is the same in the node's version and in the exported version."""
    domain, op_type = protos.split_name(node.op)
    opset = protos.opset_of(node)
    if domain:
        return _one_version(model, domain, op_type, opset)
    if node.op in CONTROL_FLOW:
        # Newer versions only accept more types, except that an old Scan has a batch axis.
        return node.op != "onnx.Scan" or not is_batched(node)
    return _since(op_type, "", opset) == _since(op_type, "", model.opset)


def _one_version(model: Model, domain: str, op_type: str, opset: int) -> bool:
    """Check that an operator is the same in its opset and in the opset of its domain's first node.

    Errors: E-EXPORT-OPSET.
    """
    found = model.domains.setdefault(domain, opset)
    if found != opset and _since(op_type, domain, found) != _since(op_type, domain, opset):
        raise CompileError(
            "E-EXPORT-OPSET",
            f"{op_type} has version {opset} of {domain}, but other nodes have version {found}",
        )
    return True


def _since(op_type: str, domain: str, opset: int) -> int:
    schema = protos.schema_of(op_type, domain, opset)
    return 0 if schema is None or schema.deprecated else int(schema.since_version)


def _converted(scope: Scope, node: Node, inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """Replace a node of an older version by nodes of the exported version."""
    model = _alone(scope, node)
    target = scope.model.opset
    try:
        from onnx import version_converter

        made = version_converter.convert_version(model, target)
    except RuntimeError as e:
        raise CompileError(
            "E-EXPORT-OPSET",
            f"{node.op} of opset {node.attrs.get('opset')} cannot be exported to opset {target}",
            notes=[str(e)[:200]],
        ) from e
    names = {f"i{k}": i for k, i in enumerate(inputs)}
    names |= {f"o{k}": o for k, o in enumerate(outputs)}
    for stored in made.graph.initializer:
        if stored.name not in names:
            names[stored.name] = scope.model.names.fresh(f"{node.name}/{stored.name}")
            stored.name = names[stored.name]
            scope.stored.append(stored)
    for n in made.graph.node:
        for o in n.output:
            if o and o not in names:
                names[o] = scope.model.names.fresh(f"{node.name}/{o}")
        scope.node(
            n.op_type,
            [names.get(i, i) for i in n.input],
            [names.get(o, o) for o in n.output],
            domain=n.domain,
            name=node.name,
            origins=node.origins,
            attributes=n.attribute,
        )


def _alone(scope: Scope, node: Node) -> Any:
    """Create a model of only this node and the constants that version adapters may read."""
    import onnx

    opset = protos.opset_of(node)
    proto = protos.to_node_proto(replace(node, regions={}))
    graph = onnx.GraphProto(name="node", node=[proto])
    for k, i in enumerate(node.inputs):
        if not i:
            continue
        t = scope.type_of(scope.value(i))
        assert t is not None, f"{i!r} has no type"
        graph.input.add(name=f"i{k}", type=protos.to_type_proto(t))
        c = scope.constant(i)
        if c is not None and c.type.n_elements <= SMALL:
            graph.initializer.append(protos.to_tensor_proto(c.array(), f"i{k}"))
    for k, (o, t) in enumerate(zip(node.outputs, node.types, strict=True)):
        if o:
            graph.output.add(name=f"o{k}", type=protos.to_type_proto(t))
    model = onnx.ModelProto(ir_version=onnx.IR_VERSION, graph=graph)
    model.opset_import.add(domain="", version=opset)
    return model


SMALL = 1024
"""The maximum number of elements of a constant that may be a parameter of a node, such as axes or
scales."""
