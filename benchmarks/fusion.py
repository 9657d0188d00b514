"""Kernels of models under each fusion policy, and the bytes that these kernels move.

    python -m benchmarks.fusion MODEL.onnx ...

The passes of the default pipeline up to fusion run first. The table counts the nodes other than
views, and the bytes of each distinct value that a node reads or writes. Open sizes count as assumed
sizes. The number after a + counts kernels with several outputs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import compiler
from compiler.ir.graph import Graph, Node
from compiler.ir.operator import OPERATORS
from compiler.ir.types import DType, TensorType
from compiler.passes import PASSES, presets, run_pipeline
from compiler.passes.fusion.policies import POLICIES
from compiler.passes.pipeline.pipeline import Line, Pipeline


def main(paths: list[str]) -> int:
    """Print a table with a row for each model."""
    print("| model | nodes | " + " | ".join(POLICIES) + " |")
    print("|---|---|" + "---|" * len(POLICIES))
    for path in paths:
        graph, _ = run_pipeline(compiler.load(path), before_fusion(), keep_declined=False)
        cells = [cell(PASSES["fuse"].run(graph, policy=name)) for name in POLICIES]
        print(f"| {Path(path).stem} | {len(graph.nodes)} | " + " | ".join(cells) + " |", flush=True)
    return 0


def before_fusion() -> Pipeline:
    """Return the passes of the default pipeline before the first fusion."""
    default = presets()["default"]
    lines = list(default.lines)
    first = next(i for i, x in enumerate(lines) if isinstance(x, Line) and x.name == "fuse")
    return Pipeline(tuple(lines[:first]), "before fusion", default.words)


def cell(graph: Graph) -> str:
    """Return a table cell: kernels, kernels with several outputs, and megabytes moved."""
    kernels = [n for n in graph.nodes if n.op not in OPERATORS or OPERATORS[n.op].kind != "view"]
    several = sum(n.op == "fusion" and len(n.outputs) > 1 for n in kernels)
    moved = sum(nbytes for n in kernels for nbytes in traffic(n, graph))
    return f"{len(kernels)}{f' +{several}' if several else ''}, {moved / 1e6:,.1f} MB"


def traffic(node: Node, graph: Graph) -> Iterator[int]:
    """Yield the bytes of each value that a kernel reads or writes; splats count 0 bytes."""
    for value in dict.fromkeys((*node.reads, *filter(None, node.outputs))):
        t, constant = graph.types[value], graph.constants.get(value)
        repeats = constant is not None and constant.is_splat
        if isinstance(t, TensorType) and t.is_ranked and t.dtype is not DType.string:
            yield 0 if repeats else t.assumed.nbytes


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
