"""What each policy of fusion leaves of models: kernels, and the bytes that they move.

    python -m benchmarks.fusion MODEL.onnx ...

The passes of the default pipeline up to fusion run first. Counted are the nodes that are no views,
and the bytes of what each reads and writes once, as the cost model sees them; sizes that are open
count as assumed. Kernels with several outputs stand behind a +.
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
    """Print a table, a row for each model."""
    print("| model | nodes | " + " | ".join(POLICIES) + " |")
    print("|---|---|" + "---|" * len(POLICIES))
    for path in paths:
        graph, _ = run_pipeline(compiler.load(path), before_fusion(), keep_declined=False)
        cells = [cell(PASSES["fuse"].run(graph, policy=name)) for name in POLICIES]
        print(f"| {Path(path).stem} | {len(graph.nodes)} | " + " | ".join(cells) + " |", flush=True)
    return 0


def before_fusion() -> Pipeline:
    """The default pipeline up to its first fusion."""
    default = presets()["default"]
    lines = list(default.lines)
    first = next(i for i, x in enumerate(lines) if isinstance(x, Line) and x.name == "fuse")
    return Pipeline(tuple(lines[:first]), "before fusion", default.words)


def cell(graph: Graph) -> str:
    """Kernels, how many of them have several outputs, and megabytes."""
    kernels = [n for n in graph.nodes if n.op not in OPERATORS or OPERATORS[n.op].kind != "view"]
    several = sum(n.op == "fusion" and len(n.outputs) > 1 for n in kernels)
    moved = sum(nbytes for n in kernels for nbytes in traffic(n, graph))
    return f"{len(kernels)}{f' +{several}' if several else ''}, {moved / 1e6:,.1f} MB"


def traffic(node: Node, graph: Graph) -> Iterator[int]:
    """The bytes of each value that a kernel reads or writes; numbers that repeat take none."""
    for value in dict.fromkeys((*node.reads, *filter(None, node.outputs))):
        t, constant = graph.types[value], graph.constants.get(value)
        repeats = constant is not None and constant.is_splat
        if isinstance(t, TensorType) and t.is_ranked and t.dtype is not DType.string:
            yield 0 if repeats else t.assumed.nbytes


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
