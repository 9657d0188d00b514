"""The versions of operator sets that models are written in."""

from __future__ import annotations

from compiler.ir.graph import Graph, all_nodes
from compiler.ops import protos

OPSET = 26
"""The newest version of the standard that onnx 1.23 and ONNX Runtime 1.31 both read."""

NEWEST = {"ai.onnx.ml": 5}
"""The versions of other domains whose operators stand for operators of ours."""


def opset_for(graph: Graph) -> int:
    """The version to write a graph in: a newer one only where a carried node came after `OPSET`."""
    needed = OPSET
    for node in all_nodes(graph):
        if node.op.startswith("onnx."):
            domain, op_type = protos.split_name(node.op)
            opset = int(node.attrs.get("opset", 1))
            if not domain and opset > OPSET and protos.schema_of(op_type, domain, OPSET) is None:
                needed = max(needed, opset)
    return needed
