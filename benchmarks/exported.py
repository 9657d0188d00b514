"""Compare exported optimized models with the original models in ONNX Runtime: nodes and time.

    python -m benchmarks.exported [FOLDER ...] [--pipeline O3] [--only bert,lstm] [--seconds 2]

For each model, the table has the nodes outside and inside of subgraphs: of the original model,
after ONNX Runtime's level 1, and of our exported model. It also has the times of runs in ONNX
Runtime with all optimizations, on one thread. The exit code is 1 if our model has more nodes, is
more than 3 % slower, or has different results. docs/optimizer.md defines the nodes that count.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any

import onnx
import onnxruntime as ort
from onnxruntime import quantization

import compiler
from benchmarks.nodes import Nodes, nodes, optimized_by_peer, quiet_options
from benchmarks.optimizer import worst_error
from benchmarks.subjects import Subject, catalogue, subject
from benchmarks.while_loops import diacritizer
from compiler.passes.pipeline.run import run_pipeline
from compiler.passes.pipeline.text import as_pipeline

SLOWEST = 0.97
"""Smallest permitted ratio of the original model's time to our model's time."""

LARGEST_ERROR = 1e-3
LARGEST_ERROR_OF_CODES = 0.02
"""Error tolerance relative to the largest result: quantized elements may differ by one step."""

PATIENCE = 4
"""Factor of the measuring time for models that seem slower: noise only ever adds time."""

SAMPLES = Path(__file__).resolve().parents[1] / "samples"


@dataclass(frozen=True)
class Row:
    """The figures of one model. Units: seconds of a run."""

    name: str
    given: Nodes
    level_1: Nodes
    ours: Nodes
    seconds_given: float
    seconds: float
    error: float | None
    largest_error: float

    @property
    def ratio(self) -> float:
        """Return the speedup over the original model."""
        return self.seconds_given / self.seconds

    @property
    def misses(self) -> list[str]:
        """Return descriptions of all failed comparisons."""
        found: list[str] = []
        for what in ("outside", "inside"):
            n, least = getattr(self.ours, what), getattr(self.level_1, what)
            if n > least:
                found.append(f"{n} nodes {what} of subgraphs, after level 1 {least}")
        if self.ratio < SLOWEST:
            found.append(f"{1 / self.ratio - 1:.1%} slower")
        if self.error is not None and self.error > self.largest_error:
            found.append(f"error {self.error:.1e}")
        return found


HEAD = "| model | given | level 1 | ours | ms given | ms | ratio | worst error |"


def main() -> int:
    options = _options()
    print(HEAD, "|---|--:|--:|--:|--:|--:|--:|--:|", sep="\n", flush=True)
    behind = 0
    for name, read in _models(options.folders).items():
        if options.only and not any(word in name for word in options.only.split(",")):
            continue
        row = measure(name, read(), options.pipeline, options.seconds)
        print(line_of(row), *row.misses, sep="   ", flush=True)
        behind += bool(row.misses)
    return 1 if behind else 0


def measure(name: str, given: Subject, pipeline: str, seconds: float) -> Row:
    """Optimize a model for other runtimes, and run original and result interleaved."""
    data = given.model.SerializeToString()
    graph, _ = run_pipeline(
        compiler.load(data), as_pipeline(pipeline).portable, keep_declined=False
    )
    exported = compiler.to_onnx(graph)
    before, after = in_turns(data, exported, given.inputs, seconds)
    is_rounded = any("Quantize" in n.op_type for n in given.model.graph.node)
    return Row(
        name,
        nodes(given.model.graph),
        nodes(optimized_by_peer(data).graph),
        nodes(onnx.load_from_string(exported).graph),
        before,
        after,
        worst_error(data, exported, given.inputs),
        LARGEST_ERROR_OF_CODES if is_rounded else LARGEST_ERROR,
    )


def in_turns(a: bytes, b: bytes, inputs: Mapping[str, Any], seconds: float) -> tuple[float, float]:
    """Return the minimum thread time of a run of each model, measured interleaved.

    Each measurement covers several milliseconds of runs.
    """
    runs = [_run(data, inputs) for data in (a, b)]
    least = [_seconds(run, 1) for run in runs]
    n_runs = max(1, int(0.004 / max(least[0], 1e-7)))
    start, n_turns = perf_counter(), 0
    while n_turns < 6 or perf_counter() - start < _limit(least, seconds):
        for k in (0, 1) if n_turns % 2 else (1, 0):
            least[k] = min(least[k], _seconds(runs[k], n_runs))
        n_turns += 1
    return least[0], least[1]


def _limit(least: list[float], seconds: float) -> float:
    return seconds * (PATIENCE if least[0] < SLOWEST * least[1] else 1)


def _seconds(run: Callable[[], Any], n_runs: int) -> float:
    start = thread_time()
    for _ in range(n_runs):
        run()
    return (thread_time() - start) / n_runs


def _run(data: bytes, inputs: Mapping[str, Any]) -> Callable[[], Any]:
    """Return a function that runs a session on the calling thread only."""
    session = ort.InferenceSession(data, quiet_options(), providers=["CPUExecutionProvider"])
    run = partial(session.run, None, dict(inputs))
    run()
    return run


def line_of(row: Row) -> str:
    times = f"{row.seconds_given * 1e3:.3f} | {row.seconds * 1e3:.3f} | {row.ratio:.2f}"
    error = "-" if row.error is None else f"{row.error:.0e}"
    return f"| {row.name} | {row.given} | {row.level_1} | {row.ours} | {times} | {error} |"


# The models


def _models(folders: list[Path]) -> dict[str, Callable[[], Subject]]:
    """Return models by name: of other benchmarks, samples, loops, and quantized models."""
    found = catalogue(folders)
    for path in sorted(SAMPLES.glob("*.onnx")):
        found[path.stem] = lambda path=path: subject(path, path.read_bytes())
    found["while_loops"] = lambda: subject(Path("while"), diacritizer(units=128, width=128))
    for name in ("digits_cnn", "digits_lstm", "digits_transformer", "recurrent"):
        plain = found[name]
        found[f"{name}_dynamic"] = lambda plain=plain: _dynamic(plain())
        found[f"{name}_qdq"] = lambda plain=plain: _static(plain())
    return found


def _dynamic(plain: Subject) -> Subject:
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder) / "given.onnx", Path(folder) / "made.onnx"
        onnx.save(plain.model, given)
        quantization.quantize_dynamic(given, made, weight_type=quantization.QuantType.QInt8)
        return Subject(plain.name, onnx.load(made), plain.inputs)


class _Once(quantization.CalibrationDataReader):
    """Calibration data: the inputs of a model, once, for the ranges of its values."""

    def __init__(self, inputs: Mapping[str, Any]) -> None:
        self.left: Iterator[dict[str, Any]] = iter([dict(inputs)])

    def get_next(self) -> Any:
        """Return the inputs at the first call, then None."""
        return next(self.left, None)


def _static(plain: Subject) -> Subject:
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder) / "given.onnx", Path(folder) / "made.onnx"
        onnx.save(plain.model, given)
        quantization.quantize_static(
            given,
            made,
            _Once(plain.inputs),
            quant_format=quantization.QuantFormat.QDQ,
            activation_type=quantization.QuantType.QUInt8,
            weight_type=quantization.QuantType.QInt8,
        )
        return Subject(plain.name, onnx.load(made), plain.inputs)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folders", nargs="*", type=Path, help="folders of further models")
    parser.add_argument("--pipeline", default="O3", help="pipeline of portable passes")
    parser.add_argument("--only", default="", help="parts of models' names, separated by commas")
    parser.add_argument("--seconds", type=float, default=2.0, help="seconds for each model")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
