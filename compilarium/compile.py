"""`compile`: show a compiled model at any level."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from rich.console import Console

import compiler
from compilarium.options import (
    bucket_option,
    load_model,
    memory_limit_option,
    model_argument,
    named_buckets,
    named_shapes,
    order_option,
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
    without_option,
)
from compilarium.output import (
    print_json,
    progress,
    report,
    reporting,
    table,
    wants_json,
    write_output,
)
from compilarium.summary import making_lines, program_json, running_text, share_text
from compiler.errors import CompileError
from compiler.limits import Limits
from compiler.passes.engine.known_rules import all_but, require_known_rules
from compiler.runtime.emit import KINDS
from compiler.runtime.program import Program
from compiler.targets.options import Schedules
from compiler.units import bytes_text, count_text, seconds_text


@click.command()
@model_argument()
@pipeline_options()
@click.option("--target", default="host", show_default=True, help="Machine to generate code for.")
@click.option("--emit", "kind", type=click.Choice(KINDS), help="Print the program at this level.")
@click.option("--fused", is_flag=True, help="With --emit onnx: write each kernel as one function.")
@threads_option()
@spread_option()
@shape_option()
@bucket_option()
@tuned_option()
@random_weights_option()
@schedule_option()
@without_option()
@tier_option()
@order_option()
@memory_limit_option()
@time_limit_option()
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="File for the text of --emit."
)
@reporting
def command(
    model: Path,
    pipeline: str,
    precision: str,
    target: str,
    threads: int,
    spread: str,
    kind: str | None,
    fused: bool,
    shapes: tuple[tuple[str, tuple[int, ...]], ...],
    buckets: tuple[tuple[str, tuple[int, ...]], ...],
    tuned: bool,
    database: Path | None,
    weights_seed: int | None,
    schedules: Schedules | None,
    without: tuple[str, ...],
    tier: int,
    order: str,
    memory_limit_bytes: int | None,
    seconds: float,
    output: Path | None,
) -> None:
    """Compile MODEL; print a summary of passes, kernels and memory, or the program at one level."""
    if output is not None and kind is None:
        raise CompileError("E-OPTION-VALUE", "-o needs an output level", hint="add --emit")
    if fused and kind != "onnx":
        raise CompileError(
            "E-OPTION-VALUE", "--fused applies to ONNX output only", hint="add --emit onnx"
        )
    gate = all_but(without) if without else None
    with progress(f"compiling {model.name}") as tell:
        limits = Limits(seconds=seconds)
        graph = load_model(model, weights_seed, limits)
        program = compiler.compile(
            graph,
            pipeline=pipeline,
            target=target,
            threads=threads,
            spread=spread,
            precision=precision,
            inputs=named_shapes(shapes),
            buckets=named_buckets(buckets),
            schedules=schedules,
            tier=tier,
            tuned=tuned_schedules(tuned, database),
            order=order,
            memory_limit_bytes=memory_limit_bytes,
            progress=tell,
            gate=gate,
            limits=limits,
        )
        if gate is not None:
            require_known_rules(gate)
        emitted = _emitted(program, kind, fused) if kind else None
    if emitted is None:
        data = program_json(program, str(model))
        report(data, lambda c: _show(c, program, data, model.name))
    elif output is not None:
        write_output(output, emitted)
        if wants_json():
            print_json({"ok": True, "kind": kind, "output": str(output), "bytes": len(emitted)})
    elif wants_json():
        text = emitted if isinstance(emitted, str) else emitted.hex()
        print_json({"ok": True, "kind": kind, "text": text})
    else:
        click.echo(emitted, nl=False)


def _emitted(program: Program, kind: str, fused: bool) -> str | bytes:
    if kind == "onnx" and fused:
        return compiler.to_onnx(program.graph, fused=True)
    return program.emit(kind)


def _show(console: Console, program: Program, data: Mapping[str, Any], name: str) -> None:
    if data["passes"]:
        rows = [
            (
                e["name"],
                "yes" if e["changed"] else "",
                e["n_nodes"],
                e["n_applied"],
                e["n_declined"],
                seconds_text(e["seconds"]),
            )
            for e in data["passes"]
        ]
        columns = ["pass", "changed", ">nodes", ">applied", ">declined", ">time"]
        console.print(table(columns, rows))
        console.print(
            f"{count_text(len(rows), 'pass')}, {data['n_changed']:,} changed the graph: "
            f"{seconds_text(data['passes_seconds'])} in passes, "
            f"{seconds_text(data['passes_verify_seconds'])} in their verification"
        )
    for line in making_lines(data):
        console.print(line)
    stages = ", ".join(f"{s['name']} {seconds_text(s['seconds'])}" for s in data["stages"])
    if program.is_open:
        console.print(
            f"{name}: the first run generates machine code for the shapes of its inputs. {stages}"
        )
        return
    for k in data["kernels"]:
        if not k["native"]:
            console.print(f"fallback {k['name']}: {k['because']}")
    if program.limited is not None:
        console.print(program.limited.words)
    if program.order is not None:
        console.print(program.order.words)
    memory = data["memory"]
    console.print(
        f"{name}: {running_text(data)}, arena {bytes_text(memory['peak_bytes'])} "
        f"(at least {bytes_text(memory['lower_bound_bytes'])}), "
        f"weights {bytes_text(data['weight_bytes'])}"
    )
    for line in (share_text(data), stages):
        if line:
            console.print(line)
