"""GF/s of matrix products and convolutions in Compilarium and other runtimes, and the FMA peak.

    python -m benchmarks.contractions [--only gemm|small|conv|depthwise|...] [--match TEXT]
        [--seconds 1] [--precision f32|fast] [--json FILE]

All programs use one thread on one processor and f32. The programs of a case run interleaved in one
process, and times are minima. The peak of the processor is measured in the same rounds. Peers are
MKL (through torch, for matrix products only), ONNX Runtime and OpenVINO. A peer is omitted if it is
not installed or cannot run a case. For a single convolution, a peer must reorder the operands,
which is often unnecessary inside entire models: `benchmarks.models` measures those.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper

import compiler
from benchmarks.convolutions import FAMILIES, convolutions
from benchmarks.kernels import peak_text
from benchmarks.models import machine
from benchmarks.products import Case, product_model
from compiler.bench.timing import interleaved
from compiler.codegen.jit import Library
from compiler.codegen.module import module_ir
from compiler.loops.text import parse_kernel
from compiler.targets.target import host

Call = Callable[[], object]

PEAK_ITERATIONS = 4000
PEAK_FLOPS = 2.0 * 12 * 4 * PEAK_ITERATIONS


def main() -> None:
    options = _options()
    if hasattr(os, "sched_setaffinity") and len(os.sched_getaffinity(0)) > 1:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    results: list[dict[str, Any]] = []
    for case in cases():
        if options.only in ("all", case.group) and options.match in case.name:
            results.append(measure(case, options.seconds, options.precision))
            print(row(results[-1]), file=sys.stderr, flush=True)
    print(summary(results))
    if options.json is not None:
        report = {"machine": machine(), "seconds": options.seconds, "results": results}
        options.json.write_text(json.dumps(report, indent=2) + "\n")


def measure(case: Case, seconds: float, precision: str = "f32") -> dict[str, Any]:
    """Return each program's minimum seconds, our error, and the peak from the same rounds."""
    graph = compiler.load(case.model)
    program = compiler.compile(graph, precision=precision, trace=False)
    inputs = dict(case.inputs)
    calls: dict[str, Call] = {"ours": lambda: program.run(inputs)}
    for peer in (onnxruntime_call, openvino_call, mkl_call):
        try:
            found = peer(case)
        except (ImportError, RuntimeError):
            continue
        if found is not None:
            calls[peer.__name__.removesuffix("_call")] = found
    error = _error(program.run(inputs), calls)
    calls["peak"] = peak_call()
    least = {name: t.least for name, t in interleaved(calls, seconds).items()}
    peak = PEAK_FLOPS * host().lanes(4) / least.pop("peak")
    return {
        "group": case.group,
        "case": case.name,
        "flops": case.flops,
        "seconds": least,
        "peak_flops_per_second": peak,
        "share_of_peak": case.flops / least["ours"] / peak,
        "error": error,
    }


def _error(ours: Mapping[str, Any], calls: Mapping[str, Call]) -> float | None:
    """Return our difference from the first peer, relative to the largest element."""
    if "onnxruntime" not in calls:
        return None
    theirs: Any = calls["onnxruntime"]()
    (mine,) = ours.values()
    return float(np.abs(mine - theirs[0]).max() / max(np.abs(theirs[0]).max(), 1e-30))


def row(r: Mapping[str, Any]) -> str:
    """Return the speeds of a case."""
    s = r["seconds"]
    speeds = "  ".join(f"{name} {r['flops'] / t / 1e9:6.1f}" for name, t in s.items())
    return (
        f"{r['case']:34} {speeds} GF/s  {100 * r['share_of_peak']:5.1f} % of peak "
        f"{r['peak_flops_per_second'] / 1e9:.0f}  best peer {ratio(r):.2f}"
    )


def ratio(r: Mapping[str, Any]) -> float:
    """Return the time of the fastest peer over ours; 1 without peers."""
    s = r["seconds"]
    return min((t for name, t in s.items() if name != "ours"), default=s["ours"]) / s["ours"]


def summary(results: list[dict[str, Any]]) -> str:
    """Return a table with geometric means and the lowest ratio of each group."""
    lines = ["| group | cases | of the peak | ratio | lowest ratio |", "|---|--:|--:|--:|---|"]
    for group in dict.fromkeys(r["group"] for r in results):
        mine = [r for r in results if r["group"] == group]
        share, mean = (
            float(np.exp(np.mean(np.log(list(x)))))
            for x in ((r["share_of_peak"] for r in mine), map(ratio, mine))
        )
        worst = min(mine, key=ratio)
        lines.append(
            f"| {group} | {len(mine)} | {100 * share:.0f} % | {mean:.2f} | "
            f"{ratio(worst):.2f}: {worst['case'].removeprefix(group).strip()} |"
        )
    return "\n".join(lines)


# Peers


def onnxruntime_call(case: Case) -> Call | None:
    import onnxruntime as ort

    o = ort.SessionOptions()
    o.intra_op_num_threads = o.inter_op_num_threads = 1
    o.log_severity_level = 3
    session = ort.InferenceSession(case.model, o, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, dict(case.inputs))


def openvino_call(case: Case) -> Call | None:
    import openvino as ov

    core = ov.Core()
    settings = {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}
    compiled = core.compile_model(core.read_model(case.model), "CPU", settings)
    request = compiled.create_infer_request()
    return lambda: request.infer(dict(case.inputs), share_inputs=True, share_outputs=True)


def mkl_call(case: Case) -> Call | None:
    if case.torch is None:
        return None
    import torch

    torch.set_num_threads(1)
    a, b = (torch.from_numpy(x) for x in case.torch)
    return lambda: torch.matmul(a, b)


def peak_call() -> Call:
    """Return a function that runs a loop of multiply-adds on registers only."""
    target = host()
    kernel = parse_kernel(peak_text(target.lanes(4), iterations=PEAK_ITERATIONS))
    function = Library.compile(module_ir({"k": kernel}, [], target), target).function("k", 2)
    arrays = [np.full(b.shape, 1e-3, np.float32) for b in kernel.params]
    return lambda: function(*(a.ctypes.data for a in arrays))


# Cases


def cases() -> Iterator[Case]:
    """Yield all cases."""
    for m, n, k in GEMMS:
        yield gemm(f"{m}x{n}x{k} constant B", (m, k), (k, n), constant=True)
    for m, n, k in GEMMS[:4]:
        yield gemm(f"{m}x{n}x{k} run-time B", (m, k), (k, n))
    yield gemm("512x512x512 A transposed", (512, 512), (512, 512), turned="a")
    yield gemm("512x512x512 B transposed", (512, 512), (512, 512), turned="b")
    yield gemm("12 times 512x64x512", (12, 512, 512), (12, 512, 64))
    yield gemm("12 times 512x512x64, B transposed", (12, 512, 64), (12, 512, 64), turned="b")
    for m, n, k in ((1, 1000, 2048), (1, 4096, 4096)):
        yield gemm(f"{m}x{n}x{k} constant B", (m, k), (k, n), constant=True)
    for n in SMALL:
        yield gemm(f"{n}^3 run-time B", (n, n), (n, n), group="small")
        yield gemm(f"{n}^3 constant B", (n, n), (n, n), constant=True, group="small")
    yield from convolutions()


GEMMS = (
    (256, 256, 256), (512, 512, 512), (1024, 1024, 1024), (2048, 2048, 2048),
    (49, 512, 2048), (196, 256, 1024), (128, 3072, 768), (128, 768, 3072),
)  # fmt: skip
"""Sizes m, n, k: rows, columns and depth of matrix products."""

SMALL = (16, 32, 64, 100, 128)

GROUPS = ("gemm", "small", "conv", *FAMILIES)


def gemm(
    name: str,
    a: tuple[int, ...],
    b: tuple[int, ...],
    *,
    constant: bool = False,
    turned: str = "",
    group: str = "gemm",
) -> Case:
    """Return a matrix product; the operand named by `turned` is stored transposed."""
    rng = np.random.default_rng(0)
    stored = {
        name: rng.standard_normal(shape).astype(np.float32) for name, shape in (("a", a), ("b", b))
    }
    nodes: list[onnx.NodeProto] = []
    order = [*range(len(a) - 2), len(a) - 1, len(a) - 2]
    for operand in turned:
        turn = helper.make_node("Transpose", [operand], [f"{operand}t"], perm=order)
        nodes.append(turn)
    names = [f"{x}t" if x in turned else x for x in "ab"]
    nodes.append(helper.make_node("MatMul", names, ["y"]))
    left, right = (np.swapaxes(stored[x], -1, -2) if x in turned else stored[x] for x in "ab")
    held = {"b": stored.pop("b")} if constant else {}
    flops = 2.0 * float(np.prod(left.shape)) * right.shape[-1]
    model = product_model(nodes, stored, held, (*left.shape[:-1], right.shape[-1]))
    return Case(group, name, model, stored, flops, (left, right))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", default="all", choices=("all", *dict.fromkeys(GROUPS)))
    parser.add_argument("--match", default="", help="only cases whose names contain this text")
    parser.add_argument("--seconds", type=float, default=1.0, help="seconds for each case")
    parser.add_argument("--precision", default="f32", choices=("f32", "fast"))
    parser.add_argument("--json", type=Path, default=None, help="file for the figures")
    return parser.parse_args()


if __name__ == "__main__":
    main()
