"""Entire models compared with ONNX Runtime and OpenVINO, interleaved in one process per model.

    python -m benchmarks.models [--threads 1] [--precision f32] [--seconds 5] [FOLDER ...]

The models are the nine light models of the onnx package with random weights, the PP-OCR models, a
generated encoder in the sizes of BERT base, a generated bidirectional LSTM, and every model in the
folders. Inputs come from an .npz file of the same name, if it exists. At f32 and `fast`, OpenVINO
is set to f32; at bf16, OpenVINO has default settings: bf16 if the processor supports bf16.

The ratio is the best peer's minimum over ours: above 1, Compilarium is faster. The command writes
`models.json`, and prints a table.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import compiler
from benchmarks.subjects import Subject, catalogue
from compiler.bench.peers import first_run, load_peer
from compiler.bench.timing import interleaved, pinned, ratio_of_minima
from compiler.errors import CompileError
from compiler.runtime.compare import compare, worst
from compiler.targets.target import host

PEERS = {
    "f32": ("onnxruntime", "openvino"),
    "fast": ("onnxruntime", "openvino"),
    "bf16": ("openvino-default",),
    "int8": ("onnxruntime", "openvino"),
}


def main() -> int:
    options = _options()
    if options.one is not None:
        print(json.dumps(_one(options)))
        return 0
    results: list[dict[str, Any]] = []
    print("\n".join(header(PEERS[options.precision])), flush=True)
    for name in _names(options):
        results.append(_in_child(name))
        print(row(results[-1]), flush=True)
    report = {
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "threads": options.threads,
        "precision": options.precision,
        "seconds_per_model": options.seconds,
        "geometric_mean": geometric_mean(results),
        "results": results,
    }
    print(f"\ngeometric mean {report['geometric_mean']:.2f}")
    options.output.mkdir(parents=True, exist_ok=True)
    stem = options.output / f"models-{options.precision}-{options.threads}"
    stem.with_suffix(".json").write_text(json.dumps(report, indent=2) + "\n")
    stem.with_suffix(".md").write_text(markdown(report))
    return 0 if all(r["ok"] for r in results) else 1


def measure(
    subject: Subject, threads: int, precision: str, seconds: float, pipeline: str = "default"
) -> dict[str, Any]:
    """Measure one model and its peers. Units: seconds; `ratios` are peers' times over ours."""
    data = subject.model.SerializeToString()
    graph = compiler.load(data)
    inputs = dict(subject.inputs)
    shapes = {k: np.shape(v) for k, v in inputs.items()}
    with pinned(n=threads):
        start = time.perf_counter()
        program = compiler.compile(
            graph,
            pipeline=pipeline,
            threads=threads,
            precision=precision,
            inputs=shapes,
            trace=False,
        )
        compiled = time.perf_counter() - start
        outputs = program.run(inputs)
        calls = {"ours": lambda: program.run(inputs)}
        errors: dict[str, float] = {}
        refused: dict[str, str] = {}
        for name in PEERS[precision]:
            try:
                peer = load_peer(name, data, threads)
                errors[name] = worst(compare(outputs, first_run(peer, inputs)))
            except CompileError as e:
                refused[name] = e.message
                continue
            calls[name] = lambda peer=peer: peer.run(inputs)
        times = interleaved(calls, seconds)
    ours = times["ours"]
    ratios = {n: ratio_of_minima(t, ours) for n, t in times.items() if n != "ours"}
    return {
        "ok": True,
        "model": subject.name,
        "n_kernels": len(program.kernels),
        "compile_seconds": compiled,
        "minima": {n: t.least for n, t in times.items()},
        "medians": {n: t.middle for n, t in times.items()},
        "n_rounds": len(ours.seconds),
        "ratios": {n: (r.value, r.low, r.high) for n, r in ratios.items()},
        "errors": errors,
        "refused": refused,
    }


def best(r: Mapping[str, Any]) -> tuple[float, float, float] | None:
    """Return the best peer's ratio and its interval; None if no peer could run the model."""
    return min((tuple(v) for v in r.get("ratios", {}).values()), default=None)  # type: ignore[return-value]


def geometric_mean(results: Sequence[Mapping[str, Any]]) -> float:
    """Return the geometric mean of the models' ratios to their best peers."""
    found = [b[0] for r in results if (b := best(r)) is not None]
    return math.exp(sum(map(math.log, found)) / len(found)) if found else math.nan


def row(r: Mapping[str, Any]) -> str:
    """Return a row of the table. Units: milliseconds."""
    if not r["ok"]:
        return f"| {r['model']} | failed: {r['error']} |"
    found = best(r)
    peers = " | ".join(
        f"{r['minima'][p] * 1e3:.3f}" if p in r["minima"] else "refused"
        for p in ("onnxruntime", "openvino", "openvino-default")
        if p in r["minima"] or p in r["refused"]
    )
    errors = max(r["errors"].values(), default=math.nan)
    text = "" if found is None else f"{found[0]:.2f} | {found[1]:.2f}-{found[2]:.2f}"
    ours = r["minima"]["ours"] * 1e3
    return f"| {r['model']} | {ours:.3f} | {peers} | {text} | {errors:.1e} |"


def markdown(report: Mapping[str, Any]) -> str:
    """Return the table, after a paragraph with machine and settings."""
    m, names = report["machine"], PEERS[report["precision"]]
    head = (
        f"{report['threads']} thread(s), batch 1, precision {report['precision']}, {m['system']}, "
        f"vectors of {m['vector_bytes']} bytes, L2 {m['l2_bytes'] / 2**20:.1f} MiB, load "
        f"{m['load_average']:.1f}; {report['measured']}. Milliseconds, minima of interleaved "
        "rounds; ratio = the best peer over Compilarium (above 1: faster), with the interval of "
        f"95 % of bootstrap resamples. Geometric mean {report['geometric_mean']:.2f}.\n"
    )
    return head + "\n" + "\n".join([*header(names), *map(row, report["results"])]) + "\n"


def header(peers: Sequence[str]) -> list[str]:
    """Return the header lines of the table."""
    columns = ["model", "Compilarium ms", *(f"{p} ms" for p in peers)]
    columns += ["ratio", "interval", "largest rel. difference"]
    return [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]


def machine() -> dict[str, Any]:
    """Return the properties of the machine on which figures depend, without the host name."""
    t = host()
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "vector_bytes": t.vector_bytes,
        "l1d_bytes": t.l1d_bytes,
        "l2_bytes": t.l2_bytes,
        "l3_bytes": t.l3_bytes,
        "n_processors": t.n_cores,
        "load_average": os.getloadavg()[0] if hasattr(os, "getloadavg") else math.nan,
    }


def _names(options: argparse.Namespace) -> list[str]:
    """Return the names of the requested models."""
    wanted = [n for n in options.models.split(",") if n]
    found = catalogue(options.folders)
    return [n for n in found if not wanted or any(w in n for w in wanted)]


def _one(options: argparse.Namespace) -> dict[str, Any]:
    subject = catalogue(options.folders)[options.one]()
    return measure(subject, options.threads, options.precision, options.seconds, options.pipeline)


def _in_child(name: str) -> dict[str, Any]:
    """Measure a model in a child process with the same options."""
    command = [sys.executable, "-m", "benchmarks.models", *sys.argv[1:], "--one", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        return json.loads(done.stdout.splitlines()[-1])
    except (json.JSONDecodeError, IndexError):
        said = done.stderr.strip().splitlines() or ["no word"]
        return {"ok": False, "model": name, "error": said[-1][:200]}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folders", type=Path, nargs="*", help="folders of further models")
    parser.add_argument("--models", default="", help="parts of names, separated by commas")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--precision", default="f32", choices=sorted(PEERS))
    parser.add_argument("--pipeline", default="default")
    parser.add_argument("--seconds", type=float, default=5.0, help="per model")
    parser.add_argument("--output", type=Path, default=Path("var/benchmarks"))
    parser.add_argument("--one", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
