"""One program for all sizes compared with programs for known sizes, and with ONNX Runtime.

    python -m benchmarks.transformer_models FOLDER --open
    python -m benchmarks.open_sizes FOLDER ... [--only bert,vit] [--seconds 3] [--threads 1]

The folders' models with open sizes run on inputs from the .npz file of the same name. `kept` is the
time for known sizes over the time for open sizes: 1.0 means no loss. `ratio` is
the time of ONNX Runtime, which also runs the open model, over ours. Times are minima of interleaved
rounds.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import compiler
from benchmarks.subjects import Subject, catalogue
from compiler.bench.peers import load_peer
from compiler.bench.timing import interleaved, pinned
from compiler.ir.types import TensorType
from compiler.runtime.compare import compare, worst

HEAD = "| model | open ms | known ms | kept | onnxruntime ms | ratio | worst difference |"


def main() -> int:
    options = _options()
    print(HEAD, "|---|--:|--:|--:|--:|--:|--:|", sep="\n", flush=True)
    kept: list[float] = []
    ratios: list[float] = []
    for name, read in catalogue(options.folders).items():
        if options.only and not any(word in name for word in options.only.split(",")):
            continue
        path = next((p for f in options.folders if (p := f / f"{name}.onnx").exists()), None)
        if path is None or not _is_open(path):
            continue
        times, difference = measure(path, read(), options.threads, options.seconds)
        ours, known, peer = times["open"], times["known"], times["onnxruntime"]
        kept.append(known / ours)
        ratios.append(peer / ours)
        print(
            f"| {name} | {ours * 1e3:.3f} | {known * 1e3:.3f} | {kept[-1]:.2f} | {peer * 1e3:.3f} "
            f"| {ratios[-1]:.2f} | {difference:.0e} |",
            flush=True,
        )
    if kept:
        means = (statistics.geometric_mean(k) for k in (kept, ratios))
        print("\ngeometric means: kept {:.2f}, ratio {:.2f}".format(*means))
    return 0


def measure(
    path: Path, given: Subject, threads: int, seconds: float
) -> tuple[dict[str, float], float]:
    """Return the minimum seconds of a run by program, and the error of results for open sizes.

    The reference is the results for known sizes; errors are defined as in `benchmarks.models`.
    """
    inputs = dict(given.inputs)
    shapes = {k: np.shape(v) for k, v in inputs.items()}
    graph = compiler.load(path)
    with pinned(n=threads):
        everything = compiler.compile(graph, threads=threads, trace=False)
        known = compiler.compile(graph, threads=threads, inputs=shapes, trace=False)
        peer = load_peer("onnxruntime", path.read_bytes(), threads)
        calls: Mapping[str, Callable[[], Any]] = {
            "open": lambda: everything.run(inputs),
            "known": lambda: known.run(inputs),
            "onnxruntime": lambda: peer.run(inputs),
        }
        times = interleaved(calls, seconds)
    return {k: t.least for k, t in times.items()}, worst(compare(calls["open"](), calls["known"]()))


def _is_open(path: Path) -> bool:
    types = [v.type for v in compiler.load(path).inputs]
    return any(isinstance(t, TensorType) and not t.is_static for t in types)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--only", default="", help="parts of names, separated by commas")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3.0, help="per model")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
