"""One exported case in Compilarium, ONNX Runtime and onnx.reference, compared with torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import onnx
import onnxruntime

import compiler
from compiler import CompileError
from compiler.check.yardstick import run_reference
from compiler.reference import reference
from compiler.runtime.compare import compare, worst
from tests.outside.torch_modules.exporting import Exported, Run

TOLERANCE = 1e-4
"""Relative to the scale of an output; larger if the f32 results of torch differ more from its f64
results."""

RIGHT = ("right", "exporter", "peer")
WRONG = ("wrong", "bug", "refused")

Outputs = list[np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Verdict:
    """The verdict on a case.

    right: equal to torch. exporter: equal to ONNX Runtime, while torch differs. peer: equal to
    torch, while ONNX Runtime differs or refuses. wrong: different from both. refused: a
    CompileError for a model that ONNX Runtime runs. bug: any other exception, or the death of the
    process. none: neither runs the model. `note` has the differences of onnx.reference.
    """

    outcome: str
    detail: str = ""
    note: str = ""
    seconds: float = 0.0


def judge(case: Exported) -> Verdict:
    """Return the verdict over all runs of a case: the first that is not right, else the last."""
    start = perf_counter()
    try:
        program = _ours(case.model)
    except Exception as e:  # the verdict depends on the exception
        program = e
    verdict = Verdict("right")
    for run in _possible(case):
        verdict = _judge_run(case.model, program, run)
        if verdict.outcome not in RIGHT:
            break
    return Verdict(verdict.outcome, verdict.detail, verdict.note, perf_counter() - start)


def _possible(case: Exported) -> list[Run]:
    """Return the runs that fit the model's inputs, since exporters may fix open sizes."""
    graph = onnx.load_model_from_string(case.model).graph
    inputs = {v.name: v.type.tensor_type.shape.dim for v in graph.input}

    def fits(run: Run) -> bool:
        return all(
            d.dim_value in (0, n)
            for name, dims in inputs.items()
            for d, n in zip(dims, run.feeds[name].shape, strict=True)
        )

    return [run for k, run in enumerate(case.runs) if k == 0 or fits(run)]


def _ours(model: bytes) -> tuple[Any, Any]:
    graph = compiler.load(model)
    return graph, compiler.compile(graph, tuned=False)


def _judge_run(model: bytes, program: tuple[Any, Any] | Exception, run: Run) -> Verdict:
    peer, why = _attempt(lambda: _onnxruntime(model, run))
    standard, note = _by_the_standard(model, run, peer)
    try:
        if isinstance(program, Exception):
            raise program
        graph, made = program
        taken = [v.name for v in graph.inputs]  # an exporter may omit an unused input
        feeds = {name: run.feeds[name] for name in taken}
        mine = list(made.run(feeds).values())
        plain = list(reference(graph, feeds).values())
    except CompileError as e:
        said = f"{e.code}: {e}".splitlines()[0][:300]
        if peer is None:
            return Verdict("none", f"{said}; {why}", note)
        return Verdict("refused", said, note)
    except Exception as e:  # not a CompileError: a bug of Compilarium
        return Verdict("bug", f"{type(e).__name__}: {e}"[:300], note)
    verdict = _compared("program", mine, peer, why, run)
    # Passes may increase accuracy, so the results are also compared with onnx.reference.
    if verdict.outcome in RIGHT and _off(plain, standard or run.wide) > _allowed(run):
        other = _compared("reference", plain, peer, why, run)
        verdict = other if other.outcome not in RIGHT else verdict
    return Verdict(verdict.outcome, verdict.detail, note)


def _compared(name: str, ours: Outputs, peer: Outputs | None, why: str, run: Run) -> Verdict:
    allowed = _allowed(run)
    off_torch = _off(ours, run.wide)
    off_peer = np.inf if peer is None else _off(ours, peer)
    peer_off_torch = np.inf if peer is None else _off(peer, run.wide)
    if off_torch <= allowed:
        if peer_off_torch <= allowed:
            return Verdict("right")
        return Verdict("peer", why or f"ONNX Runtime is off by {peer_off_torch:.1e}")
    if off_peer <= allowed:
        return Verdict("exporter", f"torch differs from both by {off_torch:.1e}")
    detail = f"{name} off by {off_torch:.1e} from torch, {off_peer:.1e} from ONNX Runtime"
    return Verdict("wrong", f"{detail}, which is off by {peer_off_torch:.1e} from torch {why}")


def _allowed(run: Run) -> float:
    return max(TOLERANCE, 16 * _off(run.narrow, run.wide))


def _off(made: Outputs, expected: Outputs) -> float:
    """Return the largest error of outputs relative to the scale of each; types may be wider."""
    if len(made) != len(expected):
        return np.inf
    wide = [
        a.astype(e.dtype) if e.dtype.kind == a.dtype.kind else a
        for a, e in zip(made, expected, strict=True)
    ]
    return worst(compare(_named(wide), _named(expected)))


def _named(outputs: Outputs) -> dict[str, Any]:
    return {str(k): a for k, a in enumerate(outputs)}


def _onnxruntime(model: bytes, run: Run) -> Outputs:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    taken = {i.name for i in session.get_inputs()}
    return session.run(None, {k: v for k, v in run.feeds.items() if k in taken})


def _by_the_standard(model: bytes, run: Run, peer: Outputs | None) -> tuple[Outputs | None, str]:
    """Return the outputs of onnx.reference, and a note if no other agrees or if it fails."""
    outputs, why = run_reference(model, run.feeds)
    if outputs is None:
        return None, why
    made = list(outputs.values())
    off_torch, off_peer = _off(made, run.wide), np.inf if peer is None else _off(made, peer)
    if min(off_torch, off_peer) <= _allowed(run):
        return made, ""
    off = f"{off_torch:.1e} from torch, {off_peer:.1e} from ONNX Runtime"
    return made, f"onnx.reference is off by {off}"


def _attempt(run: Callable[[], Outputs]) -> tuple[Outputs | None, str]:
    try:
        return run(), ""
    except Exception as e:  # a runtime may raise any exception
        return None, f"ONNX Runtime: {type(e).__name__}: {e}".splitlines()[0][:300]
