"""Kernels bound by memory or vector units, compared with two other runtimes and a copy.

    taskset -c 1 python -m benchmarks.memory_bound [PART_OF_A_NAME ...] [--seconds 2]

The cases are small ONNX models: chains of elementwise operators, softmax, normalisation, GELU,
attention, reductions, pools and data movement. The programs of a case run interleaved in one
process on one thread: ours, ours without fusion, ONNX Runtime, OpenVINO in f32, and `np.copyto` of
as many bytes as the case must read and write. Times are minima. "Of a copy" is the case's bytes per
second, relative to the faster of a plain and a non-temporal copy of that size. The summary has
geometric means.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx.parser

import compiler
from benchmarks.copying import copies
from benchmarks.memory_bound_cases import GROUPS, Case
from compiler.bench.peers import load_peer
from compiler.bench.timing import interleaved, pinned
from compiler.ir.operator import Array

Call = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Row:
    """The minimum seconds of one case in each runtime, and the bytes that the case moves."""

    name: str
    seconds: Mapping[str, float]
    nbytes: int
    error: float

    @property
    def of_peers(self) -> float:
        """Return the time of the faster peer relative to ours."""
        peers = [self.seconds[p] for p in ("onnxruntime", "openvino") if p in self.seconds]
        return min(peers) / self.seconds["ours"]

    @property
    def of_copy(self) -> float:
        """Return the bandwidth relative to a copy."""
        best = min(s for name, s in self.seconds.items() if name.startswith("copy"))
        return best / self.seconds["ours"]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", help="parts of the names of cases")
    parser.add_argument("--seconds", type=float, default=2.0, help="seconds for each case")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    print(f"{'case':28} {'ours':>9} {'unfused':>9} {'ORT':>9} {'OV f32':>9} {'copy':>9}   "
          "unfused   ORT    OV   of a copy   difference", file=sys.stderr)  # fmt: skip
    found: dict[str, list[Row]] = {}
    with pinned():
        for group, cases in GROUPS.items():
            for case in cases:
                if not options.names or any(n in case.name for n in options.names):
                    row = measured(case, options.seconds)
                    found.setdefault(group, []).append(row)
                    print(_line(row), file=sys.stderr, flush=True)
    if options.json:
        print("\n".join(json.dumps(_as_json(row)) for rows in found.values() for row in rows))
    else:
        print(summary(found))


def summary(found: Mapping[str, Sequence[Row]]) -> str:
    """Return a table with geometric means, and the case of each group with the lowest ratio."""
    lines = [
        "| group | cases | unfused | ONNX Runtime | OpenVINO | of a copy | lowest ratio |",
        "|---|--:|--:|--:|--:|--:|---|",
    ]
    for group, rows in found.items():
        ratios = (
            _mean([r.seconds[name] / r.seconds["ours"] for r in rows if name in r.seconds])
            for name in ("unfused", "onnxruntime", "openvino")
        )
        copied = 100 * _mean([r.of_copy for r in rows])
        worst = min(rows, key=lambda r: r.of_peers)
        means = " | ".join(f"{x:.2f}" for x in ratios)
        lines.append(
            f"| {group} | {len(rows)} | {means} | {copied:.0f} % | "
            f"{worst.of_peers:.2f}: {worst.name} |"
        )
    return "\n".join(lines)


def _mean(values: Sequence[float]) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(values))))


def measured(case: Case, seconds: float) -> Row:
    """Measure one case in all runtimes, interleaved."""
    model = onnx.parser.parse_model(case.text).SerializeToString()
    graph = compiler.load(model)
    chance = np.random.default_rng(0)
    inputs = {v.name: _random(v, chance) for v in graph.inputs}
    program = compiler.compile(graph, trace=False)
    unfused = compiler.compile(graph, pipeline="O0", trace=False)
    calls: dict[str, Call] = {
        "ours": lambda: program.run(inputs),
        "unfused": lambda: unfused.run(inputs),
        **dict(_peers(model, inputs)),
    }
    outputs = program.run(inputs)
    nbytes = sum(a.nbytes for a in (*inputs.values(), *outputs.values()))
    error = _difference(outputs, compiler.reference(graph, inputs)) if nbytes < 1 << 24 else 0.0
    times = interleaved({**calls, **copies(nbytes // 2)}, seconds, min_rounds=5)
    return Row(case.name, {k: t.least for k, t in times.items()}, nbytes, error)


def _random(value: Any, chance: np.random.Generator) -> Array:
    return chance.standard_normal(value.type.static_shape, np.float32).astype(
        value.type.dtype.numpy
    )


def _difference(made: Mapping[str, Array], expected: Mapping[str, Array]) -> float:
    """Return the largest difference relative to the largest magnitude."""
    scale = max(float(np.abs(e).max()) for e in expected.values())
    worst = max(float(np.abs(made[k] - e).max()) for k, e in expected.items())
    return worst / (scale or 1.0)


def _peers(model: bytes, inputs: Mapping[str, Array]) -> Iterator[tuple[str, Call]]:
    peer = load_peer("onnxruntime", model)
    yield "onnxruntime", lambda: peer.run(inputs)
    try:
        import openvino  # pyright: ignore[reportMissingImports]
    except ImportError:
        return
    core = openvino.Core()
    settings = {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}
    request = core.compile_model(core.read_model(model), "CPU", settings).create_infer_request()
    yield "openvino", lambda: request.infer(dict(inputs), share_inputs=True, share_outputs=True)


def _line(row: Row) -> str:
    def us(name: str) -> str:
        return f"{row.seconds[name] * 1e6:9.1f}" if name in row.seconds else f"{'-':>9}"

    def ratio(name: str) -> str:
        if name not in row.seconds:
            return "    -"
        return f"{row.seconds[name] / row.seconds['ours']:5.2f}"

    copy = min(s for name, s in row.seconds.items() if name.startswith("copy"))
    return (
        f"{row.name:28} {us('ours')} {us('unfused')} {us('onnxruntime')} {us('openvino')} "
        f"{copy * 1e6:9.1f}   {ratio('unfused')}   {ratio('onnxruntime')} {ratio('openvino')}"
        f"   {100 * row.of_copy:6.1f} %   {row.error:.1e}"
    )


def _as_json(row: Row) -> dict[str, Any]:
    return {"case": row.name, "seconds": dict(row.seconds), "bytes": row.nbytes,
            "ratio_to_best_peer": row.of_peers, "part_of_copy": row.of_copy}  # fmt: skip


if __name__ == "__main__":
    main()
