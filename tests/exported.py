"""Exported models beside what came in: nodes with those of subgraphs, and ONNX Runtime's levels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import onnx
import onnxruntime as ort

LEVELS = ort.GraphOptimizationLevel


def n_nodes(graph: Any) -> tuple[int, int]:
    """Nodes of a graph, and those of all graphs in it; constants are none."""
    inner = [n_nodes(a.g) for n in graph.node for a in n.attribute if a.HasField("g")]
    own = sum(n.op_type != "Constant" for n in graph.node)
    return own, sum(a + b for a, b in inner)


def op_types(data: bytes) -> Counter[str]:
    """How often each operator stands in a model, subgraphs left aside."""
    nodes = onnx.load_from_string(data).graph.node
    return Counter(n.op_type for n in nodes if n.op_type != "Constant")


def peer_optimized(data: bytes, level: Any = LEVELS.ORT_ENABLE_BASIC) -> bytes:
    """What ONNX Runtime makes of a model at a level."""
    with TemporaryDirectory() as folder:
        options = _options(level)
        options.optimized_model_filepath = str(Path(folder) / "optimized.onnx")
        ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        return Path(options.optimized_model_filepath).read_bytes()


def run_peer(data: bytes, inputs: Mapping[str, Any], level: Any = LEVELS.ORT_DISABLE_ALL) -> Any:
    """The results of a model in ONNX Runtime, in order."""
    session = ort.InferenceSession(data, _options(level), providers=["CPUExecutionProvider"])
    return session.run(None, dict(inputs))


def assert_no_more_nodes(exported: bytes, given: bytes) -> None:
    """Neither outside nor inside of subgraphs more than ONNX Runtime's first level leaves."""
    least = n_nodes(onnx.load_from_string(peer_optimized(given)).graph)
    found = n_nodes(onnx.load_from_string(exported).graph)
    assert found[0] <= least[0], (found, least, op_types(exported))
    assert found[1] <= least[1], (found, least, op_types(exported))


def _options(level: Any) -> ort.SessionOptions:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = level
    return options
