"""`check`: compare each pass, each rewrite, and the program with the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console

import compiler
from compilarium.inputs import input_option, read_inputs
from compilarium.options import (
    model_argument,
    model_bytes,
    named_shapes,
    pipeline_options,
    random_weights_option,
    schedule_option,
    shape_option,
    threads_option,
    tolerance_option,
    without_option,
)
from compilarium.output import progress, report, reporting, table
from compilarium.summary import making_json, making_lines
from compiler.bench.peers import first_run, installed, load_peer
from compiler.check.errors import Error
from compiler.check.findings import Finding, Verdict
from compiler.check.model import check_model
from compiler.check.nodes import NodeErrors
from compiler.check.rewrites import Judged
from compiler.check.stepwise import Wanted
from compiler.check.yardstick import Run
from compiler.errors import CompileError
from compiler.frontend.written import is_written
from compiler.passes.pipeline.precision import precision_mode
from compiler.targets.options import Schedules
from compiler.units import error_text, seconds_text


@click.command()
@model_argument()
@pipeline_options()
@threads_option()
@shape_option()
@input_option()
@random_weights_option()
@schedule_option()
@without_option()
@click.option("--seed", default=0, show_default=True, help="Seed of the random inputs.")
@tolerance_option()
@click.option("--peers", default=None, metavar="PEER,...",
              help="Runtimes for comparison; default: onnxruntime.")  # fmt: skip
@click.option("--every-rewrite", is_flag=True,
              help="Check all rewrites, without a time limit.")  # fmt: skip
@click.option("--by-node", is_flag=True,
              help="Also compare intermediate values, and report the first wrong "
              "value.")  # fmt: skip
@reporting
@click.pass_context
def command(
    ctx: click.Context,
    model: Path,
    pipeline: str,
    precision: str,
    threads: int,
    shapes: tuple[tuple[str, tuple[int, ...]], ...],
    files: tuple[str, ...],
    weights_seed: int | None,
    schedules: Schedules | None,
    without: tuple[str, ...],
    seed: int,
    tolerance: float | None,
    peers: str | None,
    every_rewrite: bool,
    by_node: bool,
) -> None:
    """Compare MODEL, after every pass and as a program, with onnx.reference and other runtimes."""
    mode = precision_mode(precision)
    allowed = mode.tolerance if tolerance is None else tolerance
    source = model_bytes(model, weights_seed)
    with progress(f"checking {model.name}") as tell:
        verdict = check_model(
            source,
            pipeline=pipeline,
            precision=precision,
            threads=threads,
            shapes=named_shapes(shapes),
            given=read_inputs(compiler.load(source), files) if files else None,
            peers=_peers(peers, source),
            wanted=Wanted(seed, allowed, every_rewrite, by_node),
            schedules=schedules,
            without=without,
            tell=tell,
        )
    report(_json(model, verdict), lambda c: _show(c, model, verdict))
    if not verdict.ok:
        ctx.exit(1)


def _peers(text: str | None, model: bytes | Path) -> dict[str, Run]:
    """Return functions that run the requested peers; the default peer is onnxruntime, if
    installed and able to read the model."""
    if text is not None:
        asked = [p.strip() for p in text.split(",") if p.strip()]
        return {name: partial(first_run, load_peer(name, model)) for name in asked}
    if is_written(model):
        return {}
    return {p: _willing(p, model) for p in ("onnxruntime",) if installed(p)}


def _willing(name: str, model: bytes | Path) -> Run:
    """Return a function that runs a peer, or that raises the peer's rejection of the model."""
    try:
        return partial(first_run, load_peer(name, model))
    except CompileError as refusal:
        error = refusal

    def refuse(inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        raise error

    return refuse


def _making(verdict: Verdict) -> Mapping[str, Any]:
    return {} if verdict.program is None else making_json(verdict.program)


def _json(model: Path, verdict: Verdict) -> dict[str, Any]:
    return {
        "ok": verdict.ok,
        "model": str(model),
        "yardstick": verdict.yardstick,
        "note": verdict.note,
        "tolerance": verdict.tolerance,
        **_making(verdict),
        "worst_relative_error": max((f.error for f in verdict.findings if f.judged), default=0.0),
        "broken": verdict.broken,
        "narrow": verdict.narrow,
        "kinds_of_inputs": verdict.kinds,
        "stages": [_stage_json(f) for f in verdict.findings],
        "rewrites": {
            "applied": verdict.n_rewrites,
            "judged": len(verdict.rewrites),
            "wrong": [judged_json(j) for j in verdict.rewrites if not j.ok],
            "without_inputs": [
                {"rule": j.rewrite.step.rule, "at": j.rewrite.step.at}
                for j in verdict.rewrites
                if j.ok and not j.n_inputs
            ],
        },
        "nodes": [_nodes_json(n) for n in verdict.nodes],
    }


def _stage_json(f: Finding) -> dict[str, Any]:
    return {
        "stage": f.stage,
        "changed": f.changed,
        "judged": f.judged,
        "seconds": f.seconds,
        "relative_error": f.error,
        "objection": f.objection,
        "outputs": [
            {
                "name": d.name,
                "max_abs_error": d.max_abs_error,
                "scale": d.scale,
                "relative_error": d.relative_error,
                "note": d.note,
            }
            for d in f.differences
        ],
        "against_f64": [e.to_json() for e in f.wide],
    }


def judged_json(j: Judged) -> dict[str, Any]:
    """Return the verdict on a rewrite, with the texts of its graphs, as JSON data."""
    step = j.rewrite.step
    return {
        "pass": j.rewrite.pass_name,
        "rule": step.rule,
        "at": step.at,
        "source": step.source,
        "budget": step.error,
        "relative_error": j.error,
        "inputs": j.kind,
        "objection": j.objection,
        "before": str(j.rewrite.before),
        "after": str(j.rewrite.after),
    }


def _nodes_json(n: NodeErrors) -> dict[str, Any]:
    first = n.first_wrong
    return {
        "stage": n.stage,
        "first_wrong": None if first is None else first.to_json(),
        "values": [e.to_json() for e in n.errors],
    }


def _show(console: Console, model: Path, verdict: Verdict) -> None:
    columns = ["stage", ">relative error", "", "worst output", ">of f64", ">ULP", ">time"]
    title = f"{model.name} against {verdict.yardstick}"
    console.print(table(columns, _rows(verdict), title))
    for line in _notes(verdict):
        console.print(line)
    for line in making_lines(_making(verdict)) if verdict.program is not None else ():
        console.print(line)
    allowed = error_text(verdict.allowed, 0)
    console.print(
        f"{'passed' if verdict.ok else 'FAILED'}: tolerance {allowed} of each output's largest "
        "magnitude"
    )


def _notes(verdict: Verdict) -> Iterator[str]:
    if verdict.note:
        yield verdict.note
    if verdict.broken:
        yield f"BROKEN: {verdict.broken}"
    if verdict.narrow:
        some = ", ".join(verdict.narrow[:5])
        yield f"not converted to f64: {len(verdict.narrow)} nodes ({some})"
    for f in verdict.findings:
        if f.objection and f.changed:
            yield f"WRONG after {f.stage}: {f.objection}" if f.judged else f.objection
    for n in verdict.nodes:
        if (first := n.first_wrong) is not None:
            yield f"first wrong value after {n.stage}: {_error_text(first)}"
    if verdict.nodes and all(n.first_wrong is None for n in verdict.nodes):
        yield f"{len(verdict.nodes[-1].errors)} values with preserved names are correct"
    judged = len(verdict.rewrites)
    if verdict.n_rewrites:
        yield f"rewrites: {verdict.n_rewrites} applied, {judged} distinct rewrites judged"
    for j in verdict.rewrites:
        if not j.ok:
            yield from judged_lines(j)


def judged_lines(j: Judged) -> Iterator[str]:
    """Yield a readable report of a wrong rewrite."""
    step = j.rewrite.step
    yield f"WRONG: {step.rule} at {step.at} in {j.rewrite.pass_name} ({step.source})"
    yield f"  on {j.kind} inputs: {j.objection}; budget {error_text(step.error, 0)} of the scale"
    for title, graph in (("before", j.rewrite.before), ("after", j.rewrite.after)):
        yield f"  {title}:"
        yield from (f"    {line}" for line in str(graph).splitlines())


def _error_text(e: Error) -> str:
    absolute, relative = error_text(e.absolute), error_text(e.relative)
    return f"{e.name}, off by {absolute} ({relative} of the scale, {e.ulps:.3g} ULP)"


def _rows(verdict: Verdict) -> Iterator[tuple[str, ...]]:
    for f in verdict.findings:
        if not f.changed:
            yield (f.stage, "", "unchanged", "", "", "", "")
            continue
        bad = max(f.differences, key=lambda d: d.relative_error, default=None)
        if f.objection and not f.judged:
            yield (f.stage, "", "rejects the model", "", "", "", "")
            continue
        mark: str = f.mark(verdict.tolerance, verdict.allowed)
        if mark == "wrong":
            mark = "TOO LARGE" if f.judged else "far off"
        place = "" if bad is None else f"{bad.name} {bad.note}".strip()
        off = max((e.relative for e in f.wide), default=None)
        ulps = max((e.ulps for e in f.wide), default=None)
        yield (
            f.stage,
            error_text(f.error),
            mark,
            place,
            "" if off is None else error_text(off),
            "" if ulps is None else f"{ulps:.3g}",
            seconds_text(f.seconds),
        )
