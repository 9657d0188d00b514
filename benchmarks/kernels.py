"""GF/s of two kernels in Loop IR (a matrix product, a 3x3 convolution), and the FMA peak.

    taskset -c 1 python -m benchmarks.kernels [--tile 14x2] [--unroll 4]

The peak is the speed of a loop of independent multiply-adds on registers only. The loop runs
interleaved with the kernels, so all figures are from the same run. Times are minima; arrays are in
the caches.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from compiler.codegen.jit import Library
from compiler.codegen.module import module_ir
from compiler.loops.nodes import Kernel
from compiler.loops.text import parse_kernel
from compiler.machine.probes import peak_text
from compiler.targets.target import Target, host


def matmul_text(m: int, n: int, k: int, rows: int, columns: int, unroll: int) -> str:
    """Return the kernel of x[m,k] times w[k,n] in register tiles, with w in panels of `columns`."""
    return f"""
    kernel matmul(x: f32[{m},{k}] input, w: f32[{n // columns},{k},{columns}] constant,
                  y: f32[{m},{n}] output) {{
      register acc: f32[{rows},{columns}]
      for j in 0..{n // columns} {{
        for i in 0..{m // rows} {{
          unroll r in 0..{rows} {{ vector c in 0..{columns} {{ acc[r, c] = f32(0.0) }} }}
          for p in 0..{k // unroll} {{ unroll u in 0..{unroll} {{
            unroll r in 0..{rows} {{ vector c in 0..{columns} {{
              acc[r, c] = add(acc[r, c], mul(x[{rows}*i+r, {unroll}*p+u], w[j, {unroll}*p+u, c]))
            }} }}
          }} }}
          unroll r in 0..{rows} {{ vector c in 0..{columns} {{
            y[{rows}*i+r, {columns}*j+c] = acc[r, c]
          }} }}
        }}
      }}
    }}"""


def conv_text(channels: int, filters: int, size: int, lanes: int, unroll: int, pixels: int) -> str:
    """Return a 3x3 convolution kernel: stride 1, channels in blocks of `lanes`, a halo of zeros."""
    blocks, groups, padded = channels // lanes, filters // (2 * lanes), size + 2
    return f"""
    kernel conv(x: f32[{blocks},{padded},{padded},{lanes}] input,
                w: f32[{groups},{blocks},3,3,{lanes},{2 * lanes}] constant,
                y: f32[{2 * groups},{size},{size},{lanes}] output) {{
      register acc: f32[2,{pixels},{lanes}]
      for g in 0..{groups} {{ for h in 0..{size} {{ for t in 0..{size // pixels} {{
        unroll f in 0..2 {{ unroll p in 0..{pixels} {{ vector o in 0..{lanes} {{
          acc[f, p, o] = f32(0.0)
        }} }} }}
        for b in 0..{blocks} {{ for kh in 0..3 {{ for kw in 0..3 {{ for i in 0..{lanes // unroll} {{
          unroll u in 0..{unroll} {{ unroll p in 0..{pixels} {{
            unroll f in 0..2 {{ vector o in 0..{lanes} {{
              acc[f, p, o] = add(acc[f, p, o], mul(
                x[b, h+kh, {pixels}*t+p+kw, {unroll}*i+u],
                w[g, b, kh, kw, {unroll}*i+u, {lanes}*f+o]))
            }} }}
          }} }}
        }} }} }} }}
        unroll f in 0..2 {{ unroll p in 0..{pixels} {{ vector o in 0..{lanes} {{
          y[2*g+f, h, {pixels}*t+p, o] = max(acc[f, p, o], f32(0.0))
        }} }} }}
      }} }} }}
    }}"""


def timed(kernel: Kernel, target: Target) -> tuple[Callable[[], float], float]:
    """Return a function that times one run of a kernel, and the compile time in seconds."""
    began = time.perf_counter()
    library = Library.compile(module_ir({"k": kernel}, [], target), target)
    compiled = time.perf_counter() - began
    rng = np.random.default_rng(0)
    arrays = [rng.random(b.shape).astype(b.dtype.numpy) * 1e-3 for b in kernel.params]
    function = library.function("k", len(arrays))
    pointers = [a.ctypes.data for a in arrays]

    def run() -> float:
        start = time.perf_counter()
        function(*pointers)
        _ = arrays
        return time.perf_counter() - start

    return run, compiled


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tile", default="14x2", help="rows x vectors of the register tile")
    parser.add_argument("--unroll", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    target = host()
    lanes = target.lanes(4)
    rows, vectors = (int(n) for n in options.tile.split("x"))
    m, n, k = rows * 16, vectors * lanes * 4, 256
    size = 4 * 14
    rows_of_work = {
        "peak": (peak_text(lanes), 2.0 * 12 * lanes * 4 * 20000),
        f"matmul {m}x{n}x{k}": (
            matmul_text(m, n, k, rows, vectors * lanes, options.unroll),
            2.0 * m * n * k,
        ),
        f"conv3x3 64->64 {size}x{size}": (
            conv_text(64, 64, size, lanes, options.unroll, 14),
            2.0 * 64 * 64 * 9 * size * size,
        ),
    }
    runs = {
        name: (*timed(parse_kernel(text), target), flops)
        for name, (text, flops) in rows_of_work.items()
    }
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(options.rounds):
        for name, (run, _, _) in runs.items():
            best[name] = min(best[name], run())
    peak = runs["peak"][2] / best["peak"]
    for name, (_, compiled, flops) in runs.items():
        speed = flops / best[name]
        print(
            f"{name:24} {speed / 1e9:7.1f} GF/s  {100 * speed / peak:5.1f} % of peak  "
            f"compiled in {compiled * 1e3:.0f} ms"
        )


if __name__ == "__main__":
    main()
