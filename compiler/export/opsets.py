"""The operator set versions of exported models."""

from __future__ import annotations

from compiler.ir.graph import Graph, all_nodes
from compiler.ops import protos

OPSET = 26
"""The newest version of the standard that onnx 1.23 and ONNX Runtime 1.31 support."""

NEWEST = {"ai.onnx.ml": 5}
"""The newest exported versions of operator sets other than the standard's."""


LEFT_BEHIND = {
    "GlobalLpPool",
    "MaxRoiPool",
    "Multinomial",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
    "RoiAlign",
}
"""Operators whose kernels in ONNX Runtime 1.31 support the standard only up to version 21."""

BEFORE_LEFT_BEHIND = 21

_WRITTEN_AS = {
    "random_normal": "RandomNormal",
    "random_uniform": "RandomUniform",
    "roi_align": "RoiAlign",
}


def opsets_for(graph: Graph) -> tuple[int, ...]:
    """Return the versions to try for the export of a graph, the best first.

    An older version is included if ONNX Runtime lacks a kernel of the newest version. A newer
    version is included only if a foreign node is newer than `OPSET`.
    """
    needed, behind = OPSET, False
    for node in all_nodes(graph):
        op_type = _WRITTEN_AS.get(node.op, "")
        if node.op.startswith("onnx."):
            domain, op_type = protos.split_name(node.op)
            opset = protos.opset_of(node)
            if not domain and opset > OPSET and protos.schema_of(op_type, domain, OPSET) is None:
                needed = max(needed, opset)
        behind = behind or op_type in LEFT_BEHIND
    return (BEFORE_LEFT_BEHIND, needed) if behind else (needed,)
