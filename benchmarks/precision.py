"""Comparison of precision modes and peers: times and errors.

    python -m benchmarks.precision [--modes f32,fast,bf16] [--seconds 3] [--models squeeze,encoder]

The programs are each mode of a model, ONNX Runtime, OpenVINO at f32, and OpenVINO with default
settings (bf16 if the processor supports it). They run interleaved in one process, on one thread.
Errors, including peers' errors, are relative to the scale of each output; the reference is the
model computed in f64 by numpy. The command prints a table, and writes `precision.json` and
`precision.md` to `--output`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import compiler
from benchmarks.models import machine
from benchmarks.subjects import Subject, catalogue
from compiler.bench.peers import first_run, load_peer
from compiler.bench.timing import interleaved, pinned
from compiler.check.margins import wide_results
from compiler.errors import CompileError

PEERS = ("onnxruntime", "openvino", "openvino-default")
MODELS = "squeezenet,resnet50,shufflenet,inception_v2,alexnet,PP-OCRv4_rec,encoder"


def main() -> int:
    options = _options()
    modes = options.modes.split(",")
    found = catalogue(options.folders)
    wanted = [n for n in found if any(w in n for w in options.models.split(","))]
    results: list[dict[str, Any]] = []
    print(_head(modes), flush=True)
    for name in wanted:
        results.append(measure(found[name](), modes, options.seconds))
        print(_row(results[-1], modes), flush=True)
    report = {"machine": machine(), "modes": modes, "results": results}
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "precision.json").write_text(json.dumps(report, indent=2) + "\n")
    lines = [_head(modes), *(_row(r, modes) for r in results)]
    (options.output / "precision.md").write_text("\n".join(lines) + "\n")
    return 0


def measure(subject: Subject, modes: Sequence[str], seconds: float) -> dict[str, Any]:
    """Measure one model. Units: seconds; errors relative to the output's scale."""
    data = subject.model.SerializeToString()
    graph, inputs = compiler.load(data), dict(subject.inputs)
    shapes = {k: np.shape(v) for k, v in inputs.items()}
    calls: dict[str, Callable[[], object]] = {}
    outputs: dict[str, Mapping[str, Any]] = {}
    refused: dict[str, str] = {}
    with pinned(n=1):
        for mode in modes:
            program = compiler.compile(graph, precision=mode, inputs=shapes, trace=False)
            outputs[mode] = program.run(inputs)
            calls[mode] = lambda p=program: p.run(inputs)
        for name in PEERS:
            try:
                peer = load_peer(name, data, 1)
                outputs[name] = dict(first_run(peer, inputs))
            except CompileError as e:
                refused[name] = e.message
                continue
            calls[name] = lambda p=peer: p.run(inputs)
        times = interleaved(calls, seconds)
    exact = wide_results(graph, inputs)[1]
    errors = {n: max(_error(o[k], e) for k, e in exact.items()) for n, o in outputs.items()}
    minima = {n: t.least for n, t in times.items()}
    return {"model": subject.name, "minima": minima, "errors": errors, "refused": refused}


def _error(made: Any, exact: Any) -> float:
    """Return the largest difference, relative to the largest magnitude of the exact output."""
    wide = np.asarray(exact, np.float64)
    difference = np.abs(np.asarray(made, np.float64) - wide).max(initial=0.0)
    return float(difference / max(np.abs(wide).max(initial=0.0), np.finfo(np.float64).tiny))


def _head(modes: Sequence[str]) -> str:
    names = [
        "model",
        *(f"{n}: ms (error)" for n in (*modes, *PEERS)),
        "bf16 over f32",
        "bf16 ratio",
    ]
    return f"| {' | '.join(names)} |\n{'|---' * len(names)}|"


def _row(r: Mapping[str, Any], modes: Sequence[str]) -> str:
    """Return a table row. The ratio is OpenVINO's default time over our bf16 time."""
    least = r["minima"]
    cells = [
        f"{least[n] * 1e3:.3f} ({r['errors'][n]:.0e})" if n in least else "refused"
        for n in (*modes, *PEERS)
    ]
    for other in ("f32", "openvino-default"):
        both = "bf16" in least and other in least
        cells.append(f"{least[other] / least['bf16']:.2f}" if both else "")
    return f"| {r['model']} | {' | '.join(cells)} |"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--modes", default="f32,fast,bf16")
    parser.add_argument("--models", default=MODELS, help="parts of names")
    parser.add_argument("--seconds", type=float, default=3.0, help="seconds for each model")
    parser.add_argument("--output", type=Path, default=Path("var/benchmarks"))
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
