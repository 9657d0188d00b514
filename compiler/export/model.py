"""The export of a graph as an ONNX model that passes onnx's checker."""

from __future__ import annotations

from typing import Any

from compiler.errors import CompileError
from compiler.export.names import Names
from compiler.export.opsets import OPSET, opsets_for
from compiler.export.scope import Model
from compiler.export.write import write_graph
from compiler.ir.graph import Graph, all_nodes

__all__ = ["LARGEST_BYTES", "OPSET", "to_onnx"]

LARGEST_BYTES = (1 << 31) - (1 << 20)
"""The maximum size in bytes of the weights in one protobuf message, without the nodes."""


def to_onnx(graph: Graph, *, fused: bool = False) -> bytes:
    """Export a graph as an ONNX model of standard operators.

    Fusions are inlined; with `fused`, they become calls of model-local functions. Memory layouts
    are dropped. Names of nodes, values, inputs and results are retained.
    Errors: E-EXPORT-*, with the node that has no ONNX equivalent, and with the reason.
    """
    _check_size(graph)
    *older, newest = opsets_for(graph)
    for opset in older:
        try:
            return _written(graph, opset, fused)
        except CompileError as e:
            if e.code not in ("E-EXPORT-OPSET", "E-EXPORT-TYPE"):
                raise
    return _written(graph, newest, fused)


def _written(graph: Graph, opset: int, fused: bool) -> bytes:
    """Export to one version of the standard. Errors: E-EXPORT-*."""
    import onnx

    taken = {*(v.name for v in graph.inputs), *(r.name for r in graph.results)}
    model = Model(Names(taken), opset, fused)
    proto = onnx.ModelProto(producer_name="compilarium")
    proto.graph.CopyFrom(write_graph(model, graph))
    domains = {"": opset, **model.domains}
    for domain, version in sorted(domains.items()):
        proto.opset_import.add(domain=domain, version=version)
    proto.functions.extend(model.functions.values())
    proto.ir_version = _ir_version(opset)
    _tell_result_types(proto)
    return bytes(proto.SerializeToString(deterministic=True))


def _check_size(graph: Graph) -> None:
    """Check the size of the weights. Errors: E-EXPORT-SIZE."""
    graphs = [graph, *(g for n in all_nodes(graph) for g in n.regions.values())]
    constants = [c for g in graphs for c in g.constants.values()]
    total = sum(c.type.nbytes for c in constants if not c.is_splat)
    if total > LARGEST_BYTES:
        message = f"the weights take {total:,} bytes; the limit is {LARGEST_BYTES:,}"
        raise CompileError("E-EXPORT-SIZE", message)


def _ir_version(opset: int) -> int:
    """Return the IR version released with a version of the operator set."""
    from onnx import helper

    return int(helper.find_min_ir_version_for([helper.make_opsetid("", opset)]))


def _tell_result_types(proto: Any) -> None:
    """Complete unknown types of results by onnx's shape inference.

    Errors: E-EXPORT-TYPE if a type remains unknown.
    """
    import onnx

    silent = [k for k, o in enumerate(proto.graph.output) if not o.type.WhichOneof("value")]
    if not silent:
        return
    inferred = onnx.shape_inference.infer_shapes(proto)
    for k in silent:
        found = inferred.graph.output[k]
        if not found.type.WhichOneof("value"):
            raise CompileError("E-EXPORT-TYPE", f"the type of the result {found.name!r} is unknown")
        proto.graph.output[k].CopyFrom(found)
