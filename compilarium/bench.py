"""`bench`: time a compiled model and other runtimes, interleaved in one process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console

import compiler
from compilarium.inputs import input_option, read_inputs
from compilarium.options import (
    bucket_option,
    model_argument,
    model_bytes,
    named_buckets,
    named_shapes,
    pipeline_options,
    random_weights_option,
    schedule_option,
    shape_option,
    spread_option,
    threads_option,
)
from compilarium.output import progress, report, reporting, table
from compilarium.summary import making_json, making_lines, running_json, running_text
from compiler.bench.disturbance import Disturbance, watched
from compiler.bench.machine_slot import machine_slot
from compiler.bench.peers import first_run, load_peer
from compiler.bench.timing import Ratio, Times, interleaved, pinned, ratio_of_minima
from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.runtime.compare import compare, worst
from compiler.runtime.inputs import inputs_of
from compiler.targets.options import Schedules
from compiler.units import count_text, error_text, seconds_text

OURS = "compilarium"


@dataclass(frozen=True, slots=True)
class Result:
    """The measurements; `errors` has the largest relative difference from each peer's results."""

    model: str
    shapes: Mapping[str, Sequence[int]]
    threads: int
    processors: tuple[int, ...]
    compile_seconds: float
    times: Mapping[str, Times]
    ratios: Mapping[str, Ratio]
    errors: Mapping[str, float]
    versions: Mapping[str, str]
    running: Mapping[str, Any]
    """The numbers of launches and fallbacks, as `running_json` returns them."""
    making: Mapping[str, Any]
    """Times and reasons of code generation, as `making_json` returns them."""
    disturbance: Disturbance

    def to_json(self) -> dict[str, Any]:
        """Return the data that `--json` prints. Units: seconds."""
        return {
            "ok": True,
            "model": self.model,
            "shapes": {k: list(v) for k, v in self.shapes.items()},
            "threads": self.threads,
            "processors": list(self.processors),
            "compile_seconds": self.compile_seconds,
            **self.running,
            **self.making,
            "disturbance": {
                "busy_processors": self.disturbance.busy_processors,
                "waiting_share": self.disturbance.waiting_share,
                "steal_share": self.disturbance.steal_share,
                "causes": list(self.disturbance.causes),
            },
            "programs": {
                name: {
                    "version": self.versions[name],
                    "min_s": t.least,
                    "median_s": t.middle,
                    "n_rounds": len(t.seconds),
                }
                for name, t in self.times.items()
            },
            "ratios": {
                name: {
                    "of_minima": r.value,
                    "low": r.low,
                    "high": r.high,
                    "relative_error": self.errors[name],
                }
                for name, r in self.ratios.items()
            },
        }


def measure(
    model: bytes | Path,
    name: str,
    *,
    against: Sequence[str] = (),
    pipeline: str = "default",
    threads: int = 1,
    spread: str = "loops",
    precision: str = "f32",
    shapes: Mapping[str, Sequence[int]] | None = None,
    files: Sequence[str] = (),
    buckets: Mapping[str, Sequence[int]] | None = None,
    seconds: float = 5.0,
    seed: int = 0,
    pin: bool = True,
    schedules: Schedules | None = None,
) -> Result:
    """Compile a model, and time it interleaved with other runtimes (peers) on the same inputs.

    `files` names files of inputs as `NAME=FILE.npy`; other inputs are random, with these `shapes`.
    The code is specialised for the shapes of all inputs. If `buckets` are given, the timed code
    belongs to a program that also runs other sizes. Errors: those of `compile` and `read_inputs`,
    and E-OPTION-VALUE for peers that cannot be used.
    """
    graph = compiler.load(model)
    inputs = inputs_of(graph, seed, shapes, read_inputs(graph, files))
    given = {k: v.shape for k, v in inputs.items() if hasattr(v, "shape")}
    with pinned(pin, threads) as processors:
        program = compiler.compile(
            graph,
            pipeline=pipeline,
            threads=threads,
            spread=spread,
            precision=precision,
            inputs=None if buckets else given,
            buckets=buckets,
            trace=False,
            schedules=schedules,
        )
        peers = [load_peer(p, model, threads) for p in against]
        outputs = program.run(inputs)
        errors = {p.name: worst(compare(outputs, first_run(p, inputs))) for p in peers}
        calls = {OURS: lambda: program.run(inputs)}
        calls.update((p.name, lambda p=p: p.run(inputs)) for p in peers)
        with machine_slot() as is_exclusive, watched(threads) as watch:
            times = interleaved(calls, seconds)
        watch.is_exclusive = is_exclusive
    return Result(
        name,
        given,
        threads,
        processors,
        sum(s.seconds for s in program.stages),
        times,
        {p.name: ratio_of_minima(times[OURS], times[p.name]) for p in peers},
        errors,
        {OURS: compiler.__version__, **{p.name: p.version for p in peers}},
        running_json(program),
        making_json(program),
        watch.disturbance(),
    )


@click.command()
@model_argument()
@click.option(
    "--against",
    default="",
    metavar="PEER,...",
    help="Other runtimes to measure: onnxruntime, openvino (at f32), openvino-default.",
)
@threads_option()
@spread_option()
@pipeline_options()
@shape_option()
@input_option()
@bucket_option()
@random_weights_option()
@schedule_option()
@click.option("--seconds", default=5.0, show_default=True, type=click.FloatRange(min=0),
              help="Measuring time in seconds.")  # fmt: skip
@click.option("--seed", default=0, show_default=True, help="Seed of the random inputs.")
@click.option("--pin/--no-pin", default=True, show_default=True,
              help="Pin the process to one processor per thread.")  # fmt: skip
@reporting
def command(
    model: Path,
    against: str,
    threads: int,
    spread: str,
    pipeline: str,
    precision: str,
    shapes: tuple[tuple[str, tuple[int, ...]], ...],
    files: tuple[str, ...],
    buckets: tuple[tuple[str, tuple[int, ...]], ...],
    weights_seed: int | None,
    schedules: Schedules | None,
    seconds: float,
    seed: int,
    pin: bool,
) -> None:
    """Time MODEL interleaved with other runtimes: minima, medians, ratios, and intervals."""
    peers = [p.strip() for p in against.split(",") if p.strip()]
    if len(set(peers)) != len(peers):
        raise CompileError("E-OPTION-VALUE", f"--against names a peer twice: {against}")
    with progress(f"measuring {model.name}"):
        result = measure(
            model_bytes(model, weights_seed),
            str(model),
            against=peers,
            pipeline=pipeline,
            threads=threads,
            spread=spread,
            precision=precision,
            shapes=named_shapes(shapes),
            files=files,
            buckets=named_buckets(buckets),
            seconds=seconds,
            seed=seed,
            pin=pin,
            schedules=schedules,
        )
    report(result.to_json(), lambda c: _show(c, result))


def _show(console: Console, r: Result) -> None:
    rows = []
    for name, t in r.times.items():
        ratio = r.ratios.get(name)
        rows.append(
            (
                f"{name} {r.versions[name]}",
                seconds_text(t.least),
                seconds_text(t.middle),
                len(t.seconds),
                f"{ratio.value:.2f} ({ratio.low:.2f}-{ratio.high:.2f})" if ratio else "",
                error_text(r.errors[name]) if ratio else "",
            )
        )
    columns = ["program", ">minimum", ">median", ">rounds", ">ours / peer", ">rel. error"]
    console.print(table(columns, rows))
    several = "s" if len(r.processors) > 1 else ""
    where = f", on processor{several} {', '.join(map(str, r.processors))}" if r.processors else ""
    console.print(
        f"{r.model}: {running_text(r.running)}, {count_text(r.threads, 'thread')}{where}; "
        f"compiled in {seconds_text(r.compile_seconds)}"
    )
    for line in (*making_lines(r.making), r.disturbance.words):
        console.print(line)
