"""Exported models compared with the originals: nodes, nodes in subgraphs, ONNX Runtime's levels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import onnx
import onnxruntime as ort

from benchmarks.nodes import LEVELS, nodes, optimized_by_peer, quiet_options


def op_types(model: bytes | onnx.ModelProto) -> Counter[str]:
    """Return the number of nodes of each operator in a model, without subgraphs."""
    made = model if isinstance(model, onnx.ModelProto) else onnx.load_from_string(model)
    return Counter(n.op_type for n in made.graph.node if n.op_type != "Constant")


def run_peer(data: bytes, inputs: Mapping[str, Any], level: Any = LEVELS.ORT_DISABLE_ALL) -> Any:
    """Return the results of a model in ONNX Runtime, in order."""
    session = ort.InferenceSession(data, quiet_options(level), providers=["CPUExecutionProvider"])
    return session.run(None, dict(inputs))


def assert_no_more_nodes(exported: bytes, given: bytes) -> None:
    """Check that graph and subgraphs have no more nodes than after ONNX Runtime's level 1."""
    least = nodes(optimized_by_peer(given).graph)
    found = nodes(onnx.load_from_string(exported).graph)
    assert found.outside <= least.outside, (found, least, op_types(exported))
    assert found.inside <= least.inside, (found, least, op_types(exported))
