"""Run every ONNX model of a folder in Compilarium and ONNX Runtime, and report differences.

    python -m benchmarks.against_peer FOLDER [--match TEXT] [--json] [--timeout 600]

Each model runs in a separate process, on seeded random inputs or on the arrays of `NAME.npz` next
to `NAME.onnx` (random masks, sizes and lengths are seldom valid). The report has the error relative
to each output's scale, the fractions of operations and kernels in generated code, the reasons for
fallbacks, and the seconds of loading, compiling and running. If the program is wrong, the numpy
reference runs too, which distinguishes a wrong import from wrong code.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import onnxruntime

import compiler
from compiler.ir.graph import Graph, all_nodes
from compiler.runtime.compare import TOLERANCE, compare, worst
from compiler.runtime.inputs import random_inputs

Report = dict[str, Any]

ONE_STEP = 1 / 64
"""Error tolerance of quantized models: different rounding before an 8-bit quantization can change
an element by one step, and thus all elements computed from it."""


def main() -> int:
    options = _options()
    if options.one is not None:
        print(json.dumps(measure(options.one, options.seed, options.pipeline)))
        return 0
    reports: list[Report] = []
    for path in sorted(options.folder.rglob("*.onnx")):
        if options.match in path.name:
            reports.append(_in_child(path, options))
            if not options.json:
                print(line(reports[-1]), flush=True)
    if options.json:
        print(json.dumps(reports, indent=2))
    return 0 if all(r.get("right") for r in reports) else 1


def measure(path: Path, seed: int, pipeline: str) -> Report:
    """Return the report on one model; `failed` names the step that failed, if any."""
    report: Report = {"model": path.name, "seconds": {}}
    try:
        _measure(report, path, seed, pipeline)
    except _Failed as e:
        report["failed"], report["because"] = e.args
    return report


class _Failed(Exception):
    """Raised if a step fails; contains the step's error message."""


@contextmanager
def _step(report: Report, name: str) -> Iterator[None]:
    start = perf_counter()
    try:
        yield
    except Exception as e:
        code = getattr(e, "code", type(e).__name__)
        raise _Failed(name, f"{code}: {str(e).strip()[:600]}") from e
    report["seconds"][name] = round(perf_counter() - start, 4)


def _measure(report: Report, path: Path, seed: int, pipeline: str) -> None:
    with _step(report, "load"):
        graph = compiler.load(path)
    given = path.with_suffix(".npz")
    with _step(report, "inputs"):
        inputs = dict(np.load(given)) if given.is_file() else random_inputs(graph, seed)
    with _step(report, "peer"):
        expected = _peer(path)(inputs)
    with _step(report, "compile"):
        program = compiler.compile(graph, pipeline)
    with _step(report, "first_run"):
        made = program.run(inputs)
    with _step(report, "run"):
        program.run(inputs)
    report.update(_nativeness(program))
    differences = compare(made, expected)
    report["error"] = worst(differences)
    report["tolerance"] = ONE_STEP if _is_quantised(graph) else TOLERANCE
    report["right"] = report["error"] <= report["tolerance"]
    if not report["right"]:
        report["outputs"] = [f"{d.name}: {d.relative_error:.2g} {d.note}" for d in differences]
        with _step(report, "reference"):
            by_numpy = compiler.reference(graph, inputs)
        report["reference_error"] = worst(compare(by_numpy, expected))


def _peer(path: Path) -> Callable[[dict[str, Any]], dict[str, Any]]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    # The peer runs the model as in the file, without optimizations.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    return lambda inputs: dict(zip(names, session.run(names, inputs), strict=True))


def _is_quantised(graph: Graph) -> bool:
    return any("quant" in n.op.lower() for n in all_nodes(graph))


def _nativeness(program: compiler.Program) -> Report:
    """Return the fractions of generated code, and the fallbacks by decreasing operations."""
    kernels = program.kernels
    flops = sum(k.flops for k in kernels)
    native = [k for k in kernels if k.native]
    fallbacks: dict[tuple[str, str], list[int]] = {}
    for k in kernels:
        if not k.native:
            fallbacks.setdefault((k.op, k.because), []).append(k.flops)
    ordered = sorted(fallbacks.items(), key=lambda item: (-sum(item[1]), -len(item[1])))
    return {
        "kernels": len(kernels),
        "native_kernels": len(native),
        "flops": flops,
        "native_flops": sum(k.flops for k in native) / flops if flops else 1.0,
        "fallbacks": [
            {"op": op, "because": because, "kernels": len(found), "flops": sum(found)}
            for (op, because), found in ordered
        ],
    }


def _in_child(path: Path, options: argparse.Namespace) -> Report:
    """Return the report of a child process, which may crash or exceed the time limit."""
    command = [
        sys.executable, "-m", "benchmarks.against_peer", "--one", str(path),
        "--seed", str(options.seed), "--pipeline", options.pipeline,
    ]  # fmt: skip
    failed: Report = {"model": path.name, "seconds": {}, "failed": "process"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=options.timeout, check=False
        )
    except subprocess.TimeoutExpired:
        return {**failed, "because": f"took more than {options.timeout} s"}
    if done.returncode:
        return {**failed, "because": f"exit {done.returncode}: {done.stderr[-600:]}"}
    return json.loads(done.stdout.splitlines()[-1])


def line(r: Report) -> str:
    """Format the report on one model, with details of a wrong or failed run."""
    if "failed" in r:
        return f"FAILED {r['model']}: {r['failed']}: {r['because']}"
    s = r["seconds"]
    verdict = "right" if r["right"] else f"WRONG (numpy {r['reference_error']:.1e})"
    text = (
        f"{verdict} {r['model']}: error {r['error']:.1e}, native {r['native_flops']:.1%} of "
        f"{r['flops'] / 1e6:.1f} Mflop, {r['native_kernels']} of {r['kernels']} kernels; "
        f"load {s['load']:.2f} compile {s['compile']:.2f} first {s['first_run']:.2f} "
        f"run {s['run']:.3f} s, peer {s['peer']:.2f} s"
    )
    rows = [f"{f['op']} x{f['kernels']} ({f['because'][:100]})" for f in r["fallbacks"]]
    return "\n    ".join([text, *r.get("outputs", [])[:4], *rows])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("samples"))
    parser.add_argument("--one", type=Path, help="only this file, in this process, as JSON")
    parser.add_argument("--match", default="", help="only files whose names contain this text")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pipeline", default="default")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds per model, at most")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
