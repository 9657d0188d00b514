"""The number of nodes of a model, and the model after ONNX Runtime's optimizations."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
import onnxruntime as ort

LEVELS = ort.GraphOptimizationLevel


@dataclass(frozen=True)
class Nodes:
    """The numbers of a model's nodes outside and inside of subgraphs."""

    outside: int
    inside: int

    @property
    def total(self) -> int:
        return self.outside + self.inside

    def __str__(self) -> str:
        return f"{self.outside} + {self.inside}" if self.inside else str(self.outside)


def nodes(graph: Any) -> Nodes:
    """Count the nodes of a graph and of all nested graphs; constants do not count."""
    inner = [nodes(a.g).total for n in graph.node for a in n.attribute if a.HasField("g")]
    return Nodes(sum(n.op_type != "Constant" for n in graph.node), sum(inner))


def optimized_by_peer(data: bytes, level: Any = LEVELS.ORT_ENABLE_BASIC) -> onnx.ModelProto:
    """Return the model after ONNX Runtime's optimizations at a level."""
    with tempfile.TemporaryDirectory() as folder:
        options = quiet_options(level)
        options.optimized_model_filepath = str(Path(folder) / "optimized.onnx")
        ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        return onnx.load(options.optimized_model_filepath)


def quiet_options(level: Any = LEVELS.ORT_ENABLE_ALL) -> ort.SessionOptions:
    """Return session options for one thread and no log output."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = level
    return options
