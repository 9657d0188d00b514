"""`run`: compile a model, and run it once on inputs from files or random inputs."""

from __future__ import annotations

import math
import re
from pathlib import Path
from time import perf_counter
from typing import Any

import click
import numpy as np
from rich.console import Console

import compiler
from compilarium.inputs import input_option, read_inputs
from compilarium.options import (
    Bytes,
    bucket_option,
    load_model,
    model_argument,
    named_buckets,
    named_shapes,
    pipeline_options,
    random_weights_option,
    schedule_option,
    shape_option,
    spread_option,
    threads_option,
    tier_option,
    time_limit_option,
    tuned_option,
    tuned_schedules,
)
from compilarium.output import progress, report, reporting, table, write_output
from compilarium.profile import TRACED_RUNS, profile_json, show_profile, trace_bytes
from compilarium.summary import making_json, making_lines, running_json, running_text
from compiler.diagnosis.programs import diagnoses
from compiler.errors import CompileError
from compiler.figures.times import first_run
from compiler.limits import Limits
from compiler.machine.keep import machine_of
from compiler.runtime.inputs import inputs_of
from compiler.targets.memory import machine_bytes
from compiler.targets.options import Schedules
from compiler.units import seconds_text


@click.command()
@model_argument()
@input_option()
@click.option("--random", "seed", type=click.IntRange(min=0), default=None, metavar="SEED",
              help="Seed of random values for inputs without --input.")  # fmt: skip
@shape_option()
@bucket_option()
@pipeline_options()
@tuned_option()
@threads_option()
@spread_option()
@random_weights_option()
@schedule_option()
@tier_option()
@time_limit_option()
@click.option("--memory-limit", "n_bytes", type=Bytes(), default=None,
              help="Memory limit of the compilation and of the run, as in 1GB.")  # fmt: skip
@click.option("--profile", "repeat", type=click.IntRange(min=1), default=None, metavar="RUNS",
              help="Time each kernel in RUNS runs, and report its lower bound and the "
                   "causes of the longest times.")  # fmt: skip
@click.option("--trace", "trace_file", type=click.Path(path_type=Path, dir_okay=False),
              metavar="FILE",
              help="Write passes and kernels as Chrome trace events, for Perfetto. "
                   "Each kernel is timed in 20 runs, or in the RUNS of --profile.")  # fmt: skip
@click.option("--output-dir", type=click.Path(path_type=Path, file_okay=False),
              help="Write each output to this folder as NAME.npy.")  # fmt: skip
@reporting
def command(
    model: Path,
    files: tuple[str, ...],
    seed: int | None,
    shapes: tuple[tuple[str, tuple[int, ...]], ...],
    buckets: tuple[tuple[str, tuple[int, ...]], ...],
    pipeline: str,
    precision: str,
    tuned: bool,
    database: Path | None,
    threads: int,
    spread: str,
    weights_seed: int | None,
    schedules: Schedules | None,
    tier: int,
    seconds: float,
    n_bytes: int | None,
    repeat: int | None,
    trace_file: Path | None,
    output_dir: Path | None,
) -> None:
    """Run MODEL once and show its outputs."""
    with progress(f"running {model.name}") as tell:
        limits = Limits(seconds=seconds, bytes=machine_bytes() if n_bytes is None else n_bytes)
        graph = load_model(model, weights_seed, limits)
        inputs = read_inputs(graph, files)
        if seed is not None:
            inputs = inputs_of(graph, seed, named_shapes(shapes), inputs)
        program = compiler.compile(
            graph,
            pipeline=pipeline,
            precision=precision,
            threads=threads,
            spread=spread,
            buckets=named_buckets(buckets),
            schedules=schedules,
            tier=tier,
            tuned=tuned_schedules(tuned, database),
            trace=trace_file is not None,
            progress=tell,
            limits=limits,
        )
        start = perf_counter()
        is_limited = n_bytes is not None or seconds < math.inf
        outputs = program.run(inputs, limits=limits if is_limited else None)
        taken = perf_counter() - start
        runs = repeat or (TRACED_RUNS if trace_file else 0)
        profile = program.profile(inputs, runs) if runs else None
        found = diagnoses(program, profile, threads, precision) if profile is not None else {}
    if trace_file and profile is not None:
        write_output(trace_file, trace_bytes(program, profile, str(model), threads))
    written = _write(outputs, output_dir) if output_dir else {}
    data = {
        "ok": True,
        "model": str(model),
        "seconds": first_run(taken),
        **running_json(program),
        **making_json(program),
        "outputs": {name: _facts(value, written.get(name)) for name, value in outputs.items()},
        **({} if profile is None else profile_json(profile, machine_of(program.target), found)),
        **({} if trace_file is None else {"trace": str(trace_file)}),
    }

    def show(c: Console) -> None:
        _show(c, data)
        if profile is not None:
            show_profile(c, data)
        if trace_file is not None:
            c.print(f"Wrote {trace_file}: open it in https://ui.perfetto.dev or chrome://tracing.")

    report(data, show)


def _write(outputs: dict[str, Any], directory: Path) -> dict[str, str]:
    """Write each output as an .npy file with a portable name; return the file of each output."""
    import io

    written: dict[str, str] = {}
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise CompileError("E-OUTPUT-FILE", f"{directory}: {e.strerror or e}") from e
    for name, value in outputs.items():
        base = re.sub(r"[^\w.-]", "_", name).lstrip(".") or "output"
        parts = value if isinstance(value, list) else [value]
        for i, part in enumerate(parts):
            file = f"{base}_{i}.npy" if isinstance(value, list) else f"{base}.npy"
            while str(directory / file) in written.values():
                file = f"{file.removesuffix('.npy')}_.npy"
            array = np.asarray(part)
            buffer = io.BytesIO()
            np.save(buffer, array.astype(np.str_) if array.dtype == np.object_ else array)
            write_output(directory / file, buffer.getvalue())
            written[name] = str(directory / file)
    return written


def _facts(value: Any, file: str | None) -> dict[str, Any]:
    if isinstance(value, list):
        return {"length": len(value), "file": file}
    array = np.asarray(value)
    facts: dict[str, Any] = {"shape": list(array.shape), "dtype": str(array.dtype), "file": file}
    if array.dtype.kind in "fiub" and array.size:
        numbers = array.astype(np.float64)
        facts |= {
            "min": float(numbers.min()),
            "mean": float(numbers.mean()),
            "max": float(numbers.max()),
        }
    return facts


def _show(console: Console, data: dict[str, Any]) -> None:
    rows = []
    for name, facts in data["outputs"].items():
        kind = f"{facts.get('dtype', 'list')}{facts.get('shape', '')}"
        numbers = [f"{facts[k]:.6g}" if k in facts else "" for k in ("min", "mean", "max")]
        rows.append((name, kind, *numbers, facts["file"] or ""))
    console.print(table(["output", "type", ">min", ">mean", ">max", "file"], rows))
    console.print(f"{running_text(data)}; first run in {seconds_text(data['seconds'])}")
    for line in making_lines(data):
        console.print(line)
