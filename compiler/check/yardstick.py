"""The yardstick of all comparisons: results of onnx.reference, or of our reference.

`ops/evaluation/corrections` corrects known defects of onnx.reference.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import onnx
from onnx import version_converter

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.frontend.written import is_written
from compiler.ir.graph import Graph
from compiler.ops.evaluation.corrections import corrected_evaluator
from compiler.reference import reference
from compiler.runtime.compare import compare, worst
from compiler.units import error_text

YARDSTICK = "onnx.reference"
OURS = "reference"

Run = Callable[[Mapping[str, Any]], Mapping[str, Any]]

UPGRADE_TO = 15
"""The opset to which older models are first upgraded, by the converter of the onnx package.

onnx.reference interprets some old operators by newer rules: Softmax before opset 13 loses its
default axis, and BatchNormalization of opsets 9 to 13 mixes the statistics of the batch into the
given mean and variance. The forms of Softmax and BatchNormalization in opset `UPGRADE_TO` are
unambiguous.
"""


@dataclass(frozen=True, slots=True)
class Yardstick:
    """The reference outputs by name, the name of the reference, and the reason for its choice."""

    outputs: Mapping[str, Any]
    name: str
    note: str


def yardstick_of(
    model: bytes | Path | Graph,
    source: Graph,
    inputs: Mapping[str, Any],
    peers: Mapping[str, Run],
    tolerance: float,
) -> Yardstick:
    """Compute the reference outputs by onnx.reference, or by our reference.

    Our reference replaces onnx.reference if onnx.reference fails, or if a peer agrees only with our
    reference. `source` is the model's graph for these inputs. Errors: E-RUN-*.
    """
    if isinstance(model, Graph) or is_written(model):
        outputs, note = None, ""
    else:
        outputs, note = run_reference(model, inputs)
    if outputs is None:
        return Yardstick(reference(source, inputs), OURS, note)
    theirs = Yardstick(outputs, YARDSTICK, note)
    try:
        ours = reference(source, inputs)
    except CompileError:
        return theirs
    off = worst(compare(ours, outputs))
    if off <= tolerance:
        return theirs
    for name, run in peers.items():
        try:
            agree = worst(compare(ours, run(inputs))) <= tolerance
        except CompileError:
            continue
        if agree:
            error = error_text(off, 0)
            note = f"{YARDSTICK} is off by {error} from {name} and our reference, which agree"
            return Yardstick(ours, OURS, note)
    return theirs


def run_reference(
    model: bytes | Path, inputs: Mapping[str, Any]
) -> tuple[dict[str, Any] | None, str]:
    """Return the outputs by name and a note, or None and the reason for a failure."""
    note = ""
    try:
        proto = onnx.load_model_from_string(model) if isinstance(model, bytes) else onnx.load(model)
        proto, note = _upgraded(proto)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            evaluator = corrected_evaluator(proto)
            results = evaluator.run(None, dict(inputs))
    except Exception as e:  # onnx.reference may raise any exception, and is then not used.
        return None, f"onnx.reference cannot run the model: {_first_line(e)}"
    names = [str(name) for name in evaluator.output_names]
    assert isinstance(results, list), f"onnx.reference gave {type(results)}"
    return dict(zip(names, results, strict=True)), note


def _upgraded(proto: onnx.ModelProto) -> tuple[onnx.ModelProto, str]:
    versions = {o.domain: o.version for o in proto.opset_import}
    found = versions.get("", UPGRADE_TO)
    if found >= UPGRADE_TO:
        return proto, ""
    try:
        upgraded = version_converter.convert_version(proto, UPGRADE_TO)
    except Exception as e:  # The converter supports few operators of other domains.
        return proto, f"not upgraded from opset {found}: {_first_line(e)}"
    return upgraded, f"upgraded from opset {found} to {UPGRADE_TO} by the onnx package"


def _first_line(e: Exception) -> str:
    return str(e).splitlines()[0][:200] if str(e) else type(e).__name__
