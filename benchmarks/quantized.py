"""Quantized models compared with their f32 originals and other runtimes, interleaved.

    python -m benchmarks.quantized [--models resnet50 squeezenet] [--forms u8s8 s8s8 ...]
        [--seconds 4] [--json FILE]

The models are light models of the onnx package with random weights, truncated after their logits.
ONNX Runtime's `quantize_static` quantizes each with a few random images: activations are u8 or i8,
weights i8, with one scale per weight tensor or one per filter. In the form `dynamic`, ONNX
Runtime's `quantize_dynamic` quantizes weights to u8, and activation ranges are computed at run
time. Programs run on one thread and one processor; times are minima. `f32` is the speedup of the
quantized program over our f32 program, `best` the speedup over the better peer on the same
quantized model. `error` is the largest difference from ONNX Runtime's logits, relative to the
largest logit.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnxruntime import quantization  # pyright: ignore[reportMissingTypeStubs]
from onnxruntime.quantization import shape_inference  # pyright: ignore[reportMissingTypeStubs]

import compiler
from benchmarks.models import machine
from benchmarks.subjects import SEED
from compiler.bench.peers import first_run, installed, load_peer
from compiler.bench.timing import interleaved
from compiler.errors import CompileError
from compiler.frontend.random_weights import random_weights

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
IMAGES = 3
FORMS = {
    "u8s8": ("QUInt8", False),
    "s8s8": ("QInt8", False),
    "u8s8-filters": ("QUInt8", True),
    "s8s8-filters": ("QInt8", True),
}
"""By form: the type of activations, and whether each filter has a separate scale."""

DYNAMIC = "dynamic"
"""The form with activation ranges computed at run time."""

PEERS = ("onnxruntime", "openvino")


class Images(quantization.CalibrationDataReader):
    """Calibration data: a few seeded random images."""

    def __init__(self, name: str, shape: tuple[int, ...]) -> None:
        chance = np.random.default_rng(0)
        found = [chance.normal(size=shape).astype(np.float32) for _ in range(IMAGES)]
        self.left = iter([{name: x} for x in found])

    def get_next(self) -> Any:
        """Return the next image; None after the last image."""
        return next(self.left, None)


def main() -> None:
    options = _options()
    if hasattr(os, "sched_setaffinity") and len(os.sched_getaffinity(0)) > 1:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    results: list[dict[str, Any]] = []
    for name in options.models:
        with tempfile.TemporaryDirectory() as folder:
            original = _original(name, Path(folder))
            for form in options.forms:
                results.append(_measure(name, form, original, options.seconds))
                print(_row(results[-1]), flush=True)
    if options.json:
        report = {"machine": machine(), "results": results}
        Path(options.json).write_text(json.dumps(report, indent=2) + "\n")


def _original(name: str, folder: Path) -> Path:
    """Write the f32 model as quantizers require: opset 13, no softmax after the logits."""
    found = random_weights(LIGHT / f"light_{name}.onnx", SEED)
    model = onnx.version_converter.convert_version(onnx.load_from_string(found), 13)
    weights = {w.name for w in model.graph.initializer}
    for value in [v for v in model.graph.input if v.name in weights]:
        model.graph.input.remove(value)
    last = model.graph.node[-1]
    if last.op_type == "Softmax":
        model.graph.output[0].name = last.input[0]
        model.graph.output[0].type.tensor_type.ClearField("shape")
        model.graph.node.remove(last)
    path = folder / "f32.onnx"
    onnx.save(model, folder / "plain.onnx")
    shape_inference.quant_pre_process(folder / "plain.onnx", path, skip_symbolic_shape=True)
    return path


def _quantized(original: Path, form: str, name: str, shape: tuple[int, ...]) -> Path:
    path = original.with_name(f"{form}.onnx")
    if form == DYNAMIC:
        whole = quantization.QuantType.QUInt8
        quantization.quantize_dynamic(str(original), str(path), weight_type=whole)
        return path
    activations, by_filter = FORMS[form]
    quantization.quantize_static(
        str(original),
        str(path),
        Images(name, shape),
        quant_format=quantization.QuantFormat.QDQ,
        per_channel=by_filter,
        activation_type=quantization.QuantType[activations],
        weight_type=quantization.QuantType.QInt8,
    )
    return path


def _measure(name: str, form: str, original: Path, seconds: float) -> dict[str, Any]:
    """Measure one model in one form. Units: seconds."""
    graph = compiler.load(original)
    (given,) = graph.inputs
    shape = given.type.static_shape  # type: ignore[union-attr]
    inputs: Mapping[str, Any] = {
        given.name: np.random.default_rng(7).normal(size=shape).astype(np.float32)
    }
    quantized = _quantized(original, form, given.name, shape)
    floats = compiler.compile(graph, trace=False)
    codes = compiler.compile(compiler.load(quantized), trace=False)
    calls = {"f32": lambda: floats.run(inputs), "int8": lambda: codes.run(inputs)}
    (made,) = codes.run(inputs).values()
    error = 0.0
    for peer in filter(installed, PEERS):
        try:
            loaded = load_peer(peer, quantized)
            (theirs,) = first_run(loaded, inputs).values()
        except CompileError as e:
            print(f"{peer}: {e.message}")
            continue
        if peer == "onnxruntime":
            error = float(np.abs(made - theirs).max() / np.abs(theirs).max())
        calls[peer] = lambda loaded=loaded: loaded.run(inputs)
    times = {k: t.least for k, t in interleaved(calls, seconds).items()}
    return {"model": name, "form": form, "seconds": times, "error": error}


def _row(result: Mapping[str, Any]) -> str:
    times = result["seconds"]
    peers = [times[p] for p in PEERS if p in times]
    best = f"{min(peers) / times['int8']:.2f}" if peers else "-"
    shown = "  ".join(f"{k} {t * 1e3:.2f} ms" for k, t in times.items())
    return (
        f"{result['model']:12} {result['form']:13} f32 {times['f32'] / times['int8']:.2f}  "
        f"best {best}  error {result['error']:.1e}  {shown}"
    )


def _options() -> argparse.Namespace:
    p = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    p.add_argument("--models", nargs="*", default=["resnet50", "squeezenet"])
    p.add_argument("--forms", nargs="*", choices=[*FORMS, DYNAMIC], default=[*FORMS, DYNAMIC])
    p.add_argument("--seconds", type=float, default=4.0)
    p.add_argument("--json")
    return p.parse_args()


if __name__ == "__main__":
    main()
