"""Growth of the optimizer's time with the size of the model: a section of the page.

    python -m benchmarks.scaling [--picture docs/images/scaling.svg]

Three families of graphs are generated in several sizes. Each size runs several times, interleaved
with other sizes, and the minimum time counts, since other load only ever adds time. The exponent is
the slope of a line fitted to the times on logarithmic scales.
"""

from __future__ import annotations

import argparse
import gc
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks.plot import Series, log_log_svg
from compiler.frontend import load
from compiler.ir.constant import Constant
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Result, Value
from compiler.ir.operator import Operand, Tensor
from compiler.ir.types import DType, TensorType, parse_type
from compiler.passes import run_pipeline
from compiler.passes.rules.calls import o
from tests.models import light_model

SIZES = (1_000, 2_000, 5_000, 10_000, 20_000)
LIMIT = 1.2
"""Largest permitted exponent of the growth."""


class Maker:
    """A graph builder that adds call after call."""

    def __init__(self, inputs: dict[str, str]) -> None:
        self.ed = Editor(Graph("grown", (), (), ()))
        for name, t in inputs.items():
            self.ed.add_input(Value(name, parse_type(t)))

    @property
    def n_nodes(self) -> int:
        """Return the number of nodes so far."""
        return len(self.ed.made)

    def add(self, call: Operand) -> Tensor:
        """Add a call's node, and the nodes of nested calls; return the result."""
        return self.ed.tensor(self.ed.build(call))

    def graph(self, *results: Tensor) -> Graph:
        """Return the graph with these results."""
        self.ed.results = [Result(r.name, r.name) for r in results]
        return self.ed.graph()


def weight(*shape: int) -> Constant:
    """Return a weight with distinct elements, so that it is no splat."""
    values = np.linspace(-0.1, 0.1, math.prod(shape), dtype=np.float32).reshape(shape)
    return Constant.of(values, DType.f32)


def residual(n: int) -> Graph:
    """Return residual blocks of two convolutions with batch norms, as in ResNet."""
    m = Maker({"x": "f32[1,8,10,12]"})
    x = m.ed.tensor("x")
    window = {"strides": [1, 1], "pads": [1, 1, 1, 1], "dilations": [1, 1]}
    while m.n_nodes < n:
        y = x
        for _ in range(2):
            y = m.add(o.conv(y, weight(8, 8, 3, 3), **window))
            y = m.add(o.batch_norm(y, weight(8), weight(8), weight(8), Constant.splat(
                1.0, TensorType(DType.f32, (8,)))))  # fmt: skip
            y = m.add(o.relu(y))
        x = m.add(o.relu(m.add(o.add(y, m.add(o.identity(x))))))
    return m.graph(x)


def transformer(n: int) -> Graph:
    """Return layers of attention and a perceptron, in the small operators of an exporter."""
    m = Maker({"x": "f32[1,6,16]"})
    x = m.ed.tensor("x")
    heads = np.array([0, 0, 2, 8])
    while m.n_nodes < n:
        h = layer_norm(m, x)
        q, k, v = (
            m.add(o.transpose(m.add(o.reshape(linear(m, h, 16, 16), heads)), perm=(0, 2, 1, 3)))
            for _ in range(3)
        )
        kt = m.add(o.transpose(k, perm=(0, 1, 3, 2)))
        scores = m.add(o.div(m.add(o.matmul(q, kt)), np.float32(2.83)))
        mixed = m.add(o.matmul(m.add(o.softmax(scores, axis=3)), v))
        joined = m.add(o.transpose(mixed, perm=(0, 2, 1, 3)))
        x = m.add(o.add(x, linear(m, m.add(o.reshape(joined, np.array([0, 0, 16]))), 16, 16)))
        h = linear(m, layer_norm(m, x), 16, 32)
        bell = m.add(o.add(m.add(o.erf(m.add(o.div(h, np.float32(2**0.5))))), np.float32(1)))
        h = m.add(o.mul(m.add(o.mul(h, bell)), np.float32(0.5)))
        x = m.add(o.add(x, linear(m, h, 32, 16)))
    return m.graph(x)


def layer_norm(m: Maker, x: Tensor) -> Tensor:
    """Add the nine nodes that an exporter writes for a layer norm."""
    centred = m.add(o.sub(x, m.add(o.reduce_mean(x, axes=(2,), keepdims=True))))
    square = m.add(o.pow(centred, np.float32(2)))
    variance = m.add(o.reduce_mean(square, axes=(2,), keepdims=True))
    deviation = m.add(o.sqrt(m.add(o.add(variance, np.float32(1e-5)))))
    scaled = m.add(o.mul(m.add(o.div(centred, deviation)), weight(16)))
    return m.add(o.add(scaled, weight(16)))


def linear(m: Maker, x: Tensor, n_in: int, n_out: int) -> Tensor:
    """Add a matrix product and a bias."""
    return m.add(o.add(m.add(o.matmul(x, weight(n_in, n_out))), weight(n_out)))


def wide(n: int) -> Graph:
    """Return branches that all read one input, and their sum: a value with thousands of readers."""
    m = Maker({"x": "f32[4,6]"})
    x = m.ed.tensor("x")
    total = m.add(o.neg(x))
    while m.n_nodes < n:
        number = np.float32(1 + m.n_nodes / n)
        branch = m.add(o.relu(m.add(o.mul(m.add(o.add(x, number)), number))))
        total = m.add(o.add(total, m.add(o.exp(branch))))
    return m.graph(total)


FAMILIES: dict[str, Callable[[int], Graph]] = {
    "residual": residual,
    "transformer": transformer,
    "wide": wide,
}


@dataclass(frozen=True, slots=True)
class Timing:
    """The figures of one size: nodes before and after, steps in the ledger, and minimum time."""

    n_nodes: int
    n_after: int
    n_steps: int
    seconds: float


def seconds_of(graph: Graph, pipeline: str) -> tuple[float, int, int]:
    """Run a pipeline with ledger and verification; return seconds, nodes after, and steps."""
    gc.collect()
    start = perf_counter()
    after, trace = run_pipeline(graph, pipeline)
    seconds = perf_counter() - start
    return seconds, len(after.nodes), sum(len(e.steps) for e in trace.events)


def timings(graphs: Sequence[Graph], pipeline: str, rounds: int) -> list[Timing]:
    """Run all graphs interleaved, `rounds` times; return the minimum time of each."""
    best: dict[int, tuple[float, int, int]] = {}
    for _ in range(rounds):
        for i, graph in enumerate(graphs):
            now = seconds_of(graph, pipeline)
            best[i] = min(best.get(i, now), now)
    return [
        Timing(len(g.nodes), n_after, n_steps, seconds)
        for i, g in enumerate(graphs)
        for seconds, n_after, n_steps in [best[i]]
    ]


def exponent(found: Sequence[Timing]) -> float:
    """Return the slope of a line fitted to the times on logarithmic scales."""
    x = np.log([t.n_nodes for t in found])
    y = np.log([t.seconds for t in found])
    return float(np.polyfit(x, y, 1)[0])


def section(found: dict[str, list[Timing]]) -> str:
    """Return a table with the largest graph of each family, and the exponent of its growth."""
    lines = [
        "| family | nodes | nodes left | steps | seconds | growth |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for family, rows in found.items():
        t = rows[-1]
        growth = f"n^{exponent(rows):.2f}" if len(rows) > 1 else ""
        lines.append(
            f"| {family} | {t.n_nodes:,} | {t.n_after:,} | {t.n_steps:,} | {t.seconds:.2f} | "
            f"{growth} |"
        )
    lines.append(f"\nThe aim is n^{LIMIT} at most.")
    return "\n".join(lines)


def main() -> None:
    """Measure all families; print the section and draw its picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", type=Path, default=None)
    parser.add_argument("--pipeline", default="O3")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    given = parser.parse_args()
    found: dict[str, list[Timing]] = {}
    for name, make in FAMILIES.items():
        found[name] = timings([make(n) for n in given.sizes], given.pipeline, given.rounds)
        for t in found[name]:
            print(f"{name:12} {t.n_nodes:6} nodes {t.seconds:7.3f} s", file=sys.stderr)
    curves = [
        Series(f"{k}, n^{exponent(rows):.2f}", [(t.n_nodes, t.seconds) for t in rows])
        for k, rows in found.items()
    ]
    if given.picture is not None:
        given.picture.write_text(log_log_svg(curves, "nodes", "seconds", LIMIT))
    dense = timings([load(light_model("densenet121"))], given.pipeline, given.rounds)
    print(section({**found, "DenseNet-121": dense}))


if __name__ == "__main__":
    main()
