"""Correctness and speed of a program, on random inputs and on labelled samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import compiler
from app.jobs.results import Say
from app.jobs.worker_slot import measuring
from app.rounds import timed_rounds
from app.samples import Labelled
from app.wire import profiles
from app.wire.numerics import finite
from app.wire.shapes.jobs import Accuracy, Check, OutputError, Result, Run
from app.wire.shapes.profiles import Profile
from compiler.errors import CompileError
from compiler.figures.errors import error_of_output
from compiler.ir.graph import Graph
from compiler.ir.types import TensorType
from compiler.runtime.compare import difference
from compiler.runtime.program import Program
from compiler.units import flops_text

Array = np.ndarray[Any, np.dtype[Any]]

MEASURE_S = 1.0
"""Approximate time in seconds that a compilation spends on interleaved timing of runs and
kernels."""
_MOST_ROUNDS = 50
REFERENCE_FLOPS_LIMIT = 20_000_000_000
"""Maximum number of flops of a model that the slow reference implementation runs."""


def measure(
    program: Program,
    inputs: Any,
    why_none: str,
    options: Mapping[str, Any],
    summary: Result,
    say: Say,
) -> Profile | None:
    """Time whole runs and every kernel in the measuring slot, and write both into the summary.

    Returns the profile as a separate part of the result; None if nothing could be run.
    """
    run: Run = {
        "median_s": None,
        "min_s": None,
        "low_s": None,
        "high_s": None,
        "flops_per_s": None,
        "repeats": 0,
        "threads": options["threads"],
        "seed": options["seed"],
        "skipped": "",
        "disturbance": None,
    }
    summary["run"] = run
    if inputs is None:
        run["skipped"] = why_none
        return None
    threads = options["threads"]
    try:
        program.run(inputs)
        with measuring(say, threads) as slot:
            rounds = timed_rounds(program, inputs, MEASURE_S, _MOST_ROUNDS, pause=slot.pause)
    except CompileError as e:
        run["skipped"] = why_not_run(e)
        return None
    payload = profiles.profile(program, rounds, options, slot.disturbance())
    whole = payload["run"]
    run["disturbance"] = payload["disturbance"]
    run["median_s"], run["min_s"] = whole["median_s"], whole["min_s"]
    run["low_s"], run["high_s"] = whole["low_s"], whole["high_s"]
    run["repeats"] = whole["repeats"]
    run["flops_per_s"] = whole["flops_per_s"]
    for measured in payload["kernels"]:
        row = summary["kernels"][measured["kernel"]]
        row["median_s"], row["min_s"] = measured["median_s"], measured["min_s"]
        row["low_s"], row["high_s"] = measured["low_s"], measured["high_s"]
        if middle := measured["median_s"]:
            rate = measured["flops_per_s"]
            row["gflops"] = None if rate is None else rate / 1e9
            row["gbytes_per_s"] = (row["bytes_read"] + row["bytes_written"]) / middle / 1e9
    return payload


def check(program: Any, graph: Graph, inputs: Any, why_none: str, seed: int) -> Check:
    """Compare outputs of the program and of the reference on the same random inputs."""
    found: Check = {"outputs": [], "seed": seed, "skipped": ""}
    flops = sum(k.flops for k in program.kernels)
    if inputs is None:
        found["skipped"] = why_none
    elif flops > REFERENCE_FLOPS_LIMIT:
        found["skipped"] = (
            f"the reference would take too long: the model has {flops_text(flops)}, "
            f"the limit is {flops_text(REFERENCE_FLOPS_LIMIT)}"
        )
    else:
        try:
            expected, got = compiler.reference(graph, inputs), program.run(inputs)
        except CompileError as e:
            found["skipped"] = why_not_run(e)
            return found
        found["outputs"] = [output_error(name, expected[name], got[name]) for name in expected]
    return found


def why_not_run(e: CompileError) -> str:
    """Return the reason for a missing measurement; the other results remain valid.

    Random inputs may be unsuitable, for example as indices. A lack of memory is independent of the
    inputs.
    """
    return (
        e.message if e.code == "E-RUN-MEMORY" else f"the model refused random inputs: {e.message}"
    )


def output_error(name: str, expected: Any, got: Any) -> OutputError:
    """Return the largest error of an output; errors that are undefined or infinite are null."""
    found = difference(name, got, expected)
    return {
        "name": name,
        "max_abs_error": finite(found.max_abs_error),
        "scale": finite(found.scale),
        "relative_error": finite(error_of_output(found)),
    }


def accuracy(program: Any, graph: Graph, data: Labelled) -> Accuracy | None:
    """Classify the held-out images with the imported graph and with the program.

    Returns None if the program was compiled for empty batches.
    """
    wanted = program.source.inputs[0].type
    batch = wanted.dims[0] if isinstance(wanted, TensorType) and wanted.shape else len(data.labels)
    batch = batch if isinstance(batch, int) else len(data.labels)
    if not batch:
        return None
    images = data.images.astype(_dtype(graph, data.input))
    before = _classes(lambda x: compiler.reference(graph, {data.input: x}), images, batch)
    after = _classes(lambda x: program.run({data.input: x}), images, batch)
    return {
        "n": len(data.labels),
        "reference": float(np.mean(before == data.labels)),
        "compiled": float(np.mean(after == data.labels)),
        "n_agree": int(np.sum(before == after)),
        "words": "fraction of held-out images classified correctly",
    }


def _dtype(graph: Graph, name: str) -> Any:
    t = next(v.type for v in graph.inputs if v.name == name)
    assert isinstance(t, TensorType), f"the labelled input {name} is {t}"
    return t.dtype.numpy


def _classes(run: Any, images: Array, batch: int) -> Array:
    """Return the predicted class of each image; the last batch is padded with its last image."""
    found: list[Array] = []
    for start in range(0, len(images), batch):
        part = images[start : start + batch]
        full = np.concatenate([part, np.repeat(part[-1:], batch - len(part), axis=0)])
        scores = next(iter(run(full).values()))
        found.append(np.argmax(scores.reshape(batch, -1), axis=1)[: len(part)])
    return np.concatenate(found)
