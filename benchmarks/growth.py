"""Growth of compile and run time with the layers of a transformer encoder: a section of the page.

    taskset -c 1 python -m benchmarks.growth [--picture docs/images/growth.svg]

Encoders of 1, 2, 4, 8 and 16 equal layers (width 384, 12 heads, 128 positions: the sizes of MiniLM)
are compiled and run interleaved, without caches; times are minima. Equal layers share kernels, so
only passes, planning and packing grow with the number of layers.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

import compiler
from benchmarks.made import encoder
from benchmarks.plot import Series, log_log_svg
from compiler.bench.timing import interleaved

LAYERS = (1, 2, 4, 8, 16)
WIDTH, HEADS, LENGTH = 384, 12, 128


@dataclass(frozen=True, slots=True)
class Point:
    """The figures of one number of layers. Units: seconds."""

    n_layers: int
    n_nodes: int
    n_kernels: int
    n_functions: int
    compile_seconds: float
    stages: Mapping[str, float]
    run_seconds: float


def measure(layers: Sequence[int], rounds: int, seconds: float) -> list[Point]:
    """Measure all numbers of layers interleaved."""
    models = {n: encoder(n, LENGTH, WIDTH, HEADS) for n in layers}
    compiled: dict[int, list[tuple[float, dict[str, float]]]] = {n: [] for n in layers}
    programs: dict[int, compiler.Program] = {}
    for _ in range(rounds):
        for n, data in models.items():
            start = perf_counter()
            program = programs[n] = compiler.compile(compiler.load(data))
            stages = {s.name: s.seconds for s in program.stages}
            compiled[n].append((perf_counter() - start, stages))
    x = np.random.default_rng(0).standard_normal((1, LENGTH, WIDTH)).astype(np.float32)
    calls = {str(n): lambda p=p: p.run({"x": x}) for n, p in programs.items()}
    times = interleaved(calls, seconds)
    return [
        Point(
            n,
            len(p.graph.nodes),
            len(p.kernels),
            len({k.symbol for k in p.kernels}),
            *min(compiled[n], key=lambda c: c[0]),
            times[str(n)].least,
        )
        for n, p in programs.items()
    ]


def exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """Return the slope of a line fitted to the points on logarithmic scales."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def section(points: Sequence[Point]) -> str:
    """Return the table, and the growth of both times."""
    names = list(points[0].stages)
    layers = [p.n_layers for p in points]
    running = exponent(layers, [p.run_seconds for p in points])
    last, before = points[-1], points[-2]
    per_layer = (last.compile_seconds - before.compile_seconds) / (last.n_layers - before.n_layers)
    first = points[0].compile_seconds - per_layer * points[0].n_layers
    lines = [
        "| layers | nodes | kernels | functions | compile s | "
        + " | ".join(names)
        + " | run ms | run ms per layer |",
        "|---:" * (len(names) + 7) + "|",
    ]
    for p in points:
        stages = " | ".join(f"{p.stages.get(n, 0):.3f}" for n in names)
        lines.append(
            f"| {p.n_layers} | {p.n_nodes} | {p.n_kernels} | {p.n_functions} | "
            f"{p.compile_seconds:.2f} | {stages} | {p.run_seconds * 1e3:.2f} | "
            f"{p.run_seconds * 1e3 / p.n_layers:.2f} |"
        )
    lines.append(
        f"\nThe time of a run grows with layers^{running:.2f}. The compile time is affine: "
        f"{first:.2f} s independent of the number of layers, and {per_layer * 1e3:.0f} ms a layer."
    )
    return "\n".join(lines)


def main() -> None:
    """Measure all points; print the section and draw its picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", type=Path, default=None)
    parser.add_argument("--layers", type=int, nargs="*", default=LAYERS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5.0)
    given = parser.parse_args()
    os.environ["COMPILARIUM_CACHE"] = ""
    points = measure(given.layers, given.rounds, given.seconds)
    print(section(points))
    if given.picture is not None:
        curves = [
            Series("compiling", [(p.n_layers, p.compile_seconds) for p in points]),
            Series("running", [(p.n_layers, p.run_seconds) for p in points]),
        ]
        given.picture.write_text(log_log_svg(curves, "layers", "seconds", 1.0))


if __name__ == "__main__":
    main()
