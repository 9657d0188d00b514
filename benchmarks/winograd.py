"""Winograd convolutions compared with direct convolutions: effective speed, and error.

    python -m benchmarks.winograd [--size 64@56 ...] [--seconds 1]

A size is channels@side: the input and output channels of a 3x3 convolution with padding of 1, and
the side of the image. The convolution is between two similar convolutions, so layouts are those of
a network. Effective speed counts the operations of the direct sum. Errors are maximum errors
against f64, relative to the scale.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

import compiler
from compiler.bench.timing import pinned
from compiler.check.margins import wide_results
from compiler.ir.constant import Constant
from compiler.ir.graph import Graph
from compiler.ops.convolution.winograd import ALGORITHMS

SIZES = ("64@56", "128@28", "256@14", "512@7", "64@112", "128@56", "256@28", "512@14", "384@13")
N_LAYERS = 4


def network(channels: int, side: int, algorithm: str) -> Graph:
    """Return a chain of convolutions with relu; all except first and last use `algorithm`."""
    t, chance = f"f32[1,{channels},{side},{side}]", np.random.default_rng(0)
    lines = [f"graph chain(x: {t}) {{"]
    names = [f"w{i}" for i in range(N_LAYERS)]
    lines += [f"  const {w}: f32[{channels},{channels},3,3] = splat(0.5)" for w in names]
    window = "strides=[1,1], pads=[1,1,1,1], dilations=[1,1]"
    value = "x"
    for i, w in enumerate(names):
        how = algorithm if 0 < i < N_LAYERS - 1 else "direct"
        lines.append(f'  c{i}: {t} = conv({value}, {w}, {window}, algorithm="{how}")')
        lines.append(f"  r{i}: {t} = relu(c{i})")
        value = f"r{i}"
    graph = compiler.parse("\n".join([*lines, f"  return {value}", "}"]))
    scale = (2 / (9 * channels)) ** 0.5
    drawn = {
        w: Constant.of((chance.standard_normal((channels, channels, 3, 3)) * scale).astype("f"))
        for w in names
    }
    return replace(graph, constants=drawn)


def seconds_of(program: compiler.Program, inputs: dict[str, Any]) -> float:
    """Return the time of the kernels between the first and the last convolution, in seconds."""
    profile = program.profile(inputs, repeat=3)
    inner = {f"c{i}" for i in range(1, N_LAYERS - 1)}
    return sum(profile[k.name] for k in program.kernels if inner & set(k.origins))


def error(made: Any, exact: Any) -> float:
    """Return the largest error relative to the scale."""
    return float(np.abs(made - exact).max() / np.abs(exact).max())


def measure(size: str, seconds: float) -> None:
    """Measure one size; print the effective GF/s and the error of each algorithm."""
    channels, side = map(int, size.split("@"))
    x = np.random.default_rng(1).standard_normal((1, channels, side, side)).astype("f")
    graphs = {a: network(channels, side, a) for a in ALGORITHMS}
    programs = {a: compiler.compile(g, pipeline="default") for a, g in graphs.items()}
    least = dict.fromkeys(programs, float("inf"))
    end = perf_counter() + seconds
    while perf_counter() < end:
        for a, p in programs.items():
            least[a] = min(least[a], seconds_of(p, {"x": x}))
    _, exact = wide_results(graphs["direct"], {"x": x})
    flops = 2 * 9 * channels**2 * side**2 * (N_LAYERS - 2)
    words = []
    for a, p in programs.items():
        wrong = error(p.run({"x": x})["r3"], exact["r3"])
        words.append(f"{a} {flops / least[a] / 1e9:6.0f} GF/s, error {wrong:.1e}")
    print(f"{size:8}", "   ".join(words), flush=True)


def main() -> None:
    """Measure all sizes, and print a line for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", nargs="*", default=SIZES)
    parser.add_argument("--seconds", type=float, default=1.0)
    given = parser.parse_args()
    with pinned():
        for size in given.size:
            measure(size, given.seconds)


if __name__ == "__main__":
    main()
