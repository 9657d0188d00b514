"""Count the nodes of real models after optimization by ONNX Runtime, by onnxsim, and by ours.

    python -m benchmarks.optimizer FOLDER... [--output docs/optimizer.md]

Each model has the same fixed sizes for all optimizers. docs/optimizer.md defines the counts and
explains their fairness. This command regenerates the table between two marks on that page.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort

import compiler
from benchmarks.nodes import LEVELS, nodes, optimized_by_peer, quiet_options
from benchmarks.subjects import Subject, subjects
from compiler.errors import CompileError
from compiler.ir.graph import Graph
from compiler.ir.operator import Cost
from compiler.passes.engine.cost import graph_cost
from compiler.passes.pipeline.run import run_pipeline

MARKS = ("<!-- table -->", "<!-- end of table -->")


@dataclass(frozen=True)
class Row:
    """The node counts of one model after each optimizer."""

    name: str
    given: int
    level_1: int | None
    level_2: int | None
    onnxsim: int | None
    operators: int
    kernels: int
    before: Cost
    after: Cost
    error: float | None

    @property
    def misses(self) -> list[str]:
        """Return the comparisons in which our result has more nodes."""
        found: list[str] = []
        if self.level_2 is not None and self.kernels > self.level_2:
            found.append(f"{self.kernels} kernels, level 2 has {self.level_2}")
        for what, n in (("level 1", self.level_1), ("onnxsim", self.onnxsim)):
            if n is not None and self.operators > n:
                found.append(f"{self.operators} operators, {what} has {n}")
        return found


def main() -> int:
    options = _options()
    rows: list[Row] = []
    unwritten: list[str] = []
    for subject in subjects(options.folders):
        if options.only and not any(word in subject.name for word in options.only.split(",")):
            continue
        try:
            rows.append(measure(subject, options.pipeline))
        except CompileError as e:
            unwritten.append(f"{subject.name}: {e.message}")
            print(unwritten[-1], flush=True)
            continue
        print(line_of(rows[-1]), *rows[-1].misses, sep="   ", flush=True)
    if options.output is not None:
        write_table(options.output, rows, unwritten)
    return 1 if any(r.misses for r in rows) else 0


def measure(subject: Subject, pipeline: str) -> Row:
    """Optimize one model by each optimizer; return the counts."""
    data = subject.model.SerializeToString()
    graph = compiler.load(data)
    operators, _ = run_pipeline(graph, pipeline, keep_declined=False)
    kernels, _ = run_pipeline(operators, "fuse", keep_declined=False)
    unfused = compiler.to_onnx(kernels)
    check(unfused)
    fused = onnx.load_from_string(compiler.to_onnx(kernels, fused=True))
    return Row(
        subject.name,
        nodes(subject.model.graph).total,
        peer_nodes(data, LEVELS.ORT_ENABLE_BASIC),
        peer_nodes(data, LEVELS.ORT_ENABLE_EXTENDED),
        onnxsim_nodes(subject.model),
        nodes(onnx.load_from_string(compiler.to_onnx(operators)).graph).total,
        nodes(fused.graph).total,
        cost(graph),
        cost(kernels),
        worst_error(data, unfused, subject.inputs),
    )


def check(exported: bytes) -> None:
    """Check a model with onnx's checker, and check types if type inference accepts the model.

    Type inference may reject a branch that is never executed for the fixed sizes.
    """
    try:
        onnx.checker.check_model(exported, full_check=True)
    except onnx.shape_inference.InferenceError as e:
        if "op_type:If" not in str(e):
            raise
        onnx.checker.check_model(exported)


def cost(graph: Graph) -> Cost:
    """Return the sum of the costs of all nodes whose operators declare costs."""
    return graph_cost(graph)[0]


def peer_nodes(data: bytes, level: Any) -> int | None:
    """Return the nodes after ONNX Runtime's level; None if the model cannot be loaded."""
    try:
        return nodes(optimized_by_peer(data, level).graph).total
    except Exception as e:  # ONNX Runtime's exceptions have no common class
        print(f"ONNX Runtime: {e}", file=sys.stderr)
        return None


def onnxsim_nodes(model: onnx.ModelProto) -> int | None:
    """Return the nodes after onnxsim; None if onnxsim fails."""
    import onnxsim

    try:
        simplified, _ = onnxsim.simplify(model, include_subgraph=True)
    except Exception as e:  # its C++ code may raise any exception
        print(f"onnxsim: {e}", file=sys.stderr)
        return None
    return nodes(simplified.graph).total


def worst_error(given: bytes, exported: bytes, inputs: Mapping[str, Any]) -> float | None:
    """Return the largest difference of results relative to their scale, in unoptimized runs.

    Return None if ONNX Runtime cannot run the original model, and infinity if only the exported
    model fails.
    """
    try:
        needed = run_peer(given, inputs)
    except Exception as e:  # ONNX Runtime's exceptions have no common class
        print(f"ONNX Runtime: {e}", file=sys.stderr)
        return None
    try:
        found = run_peer(exported, inputs)
    except Exception as e:
        print(f"ONNX Runtime: {e}", file=sys.stderr)
        return math.inf
    return max((difference(a, b) for a, b in zip(found, needed, strict=True)), default=0.0)


def run_peer(data: bytes, inputs: Mapping[str, Any]) -> list[Any]:
    options = quiet_options(LEVELS.ORT_DISABLE_ALL)
    session = ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    return list(session.run(None, dict(inputs)))


def difference(found: Any, needed: Any) -> float:
    """Return the relative difference of results; 1 for other shapes, types, or special values.

    For elements that are not floats, return the fraction of unequal elements.
    """
    if isinstance(needed, list):
        same = len(found) == len(needed)
        return max(map(difference, found, needed), default=0.0) if same else 1.0
    if not isinstance(needed, np.ndarray):
        return float(found != needed)
    if found.shape != needed.shape or found.dtype != needed.dtype:
        return 1.0
    if needed.dtype.kind not in "fc":
        return float(np.mean(found != needed)) if needed.size else 0.0
    a, b = found.astype(np.float64), needed.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    scale = np.abs(b[np.isfinite(b)]).max(initial=0) or 1.0
    apart = np.where(same, 0, np.abs(a - b)).max(initial=0) / scale
    return float(apart) if np.isfinite(apart) else 1.0


# The table

HEAD = (
    "| model | given | ORT 1 | ORT 2 | onnxsim | our operators | our kernels "
    "| Gflop | MB moved | worst error |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
)


def line_of(r: Row) -> str:
    def shown(n: int | None) -> str:
        return "-" if n is None else str(n)

    flops = f"{r.before.flops / 1e9:.3g} → {r.after.flops / 1e9:.3g}"
    moved = f"{r.before.bytes_moved / 1e6:.3g} → {r.after.bytes_moved / 1e6:.3g}"
    error = "-" if r.error is None else f"{r.error:.1e}"
    counts = (r.given, r.level_1, r.level_2, r.onnxsim, r.operators, r.kernels)
    return f"| {r.name} | {' | '.join(map(shown, counts))} | {flops} | {moved} | {error} |"


def write_table(page: Path, rows: list[Row], unwritten: list[str]) -> None:
    """Write the table, with notes on models that ONNX cannot express, between a page's marks."""
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(MARKS[0])
    _, _, behind = rest.partition(MARKS[1])
    notes = [f"\nNot written to ONNX: {'; '.join(unwritten)}."] if unwritten else []
    table = "\n".join([MARKS[0], HEAD, *map(line_of, rows), *notes, MARKS[1]])
    page.write_text(before + table + behind, encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folders", nargs="*", type=Path, help="folders of further models")
    parser.add_argument("--pipeline", default="portable", help="pipeline before fuse")
    parser.add_argument("--only", default="", help="parts of models' names, separated by commas")
    parser.add_argument("--output", type=Path, help="page whose table is regenerated")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
