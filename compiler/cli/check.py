"""`check`: is every pass, and the program, still the model? Compared with onnx.reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import click
from rich.console import Console

import compiler
from compiler.cli.options import (
    model_argument,
    model_bytes,
    named_shapes,
    pipeline_options,
    random_weights_option,
    shape_option,
)
from compiler.cli.output import Progress, progress, report, reporting, seconds_text, table
from compiler.cli.peers import installed, load_peer
from compiler.cli.summary import making_json, making_lines
from compiler.cli.yardstick import run_reference
from compiler.runtime.compare import TOLERANCE, Difference, compare, worst
from compiler.runtime.inputs import random_inputs

YARDSTICK = "onnx.reference"
OURS = "reference"


@dataclass(frozen=True, slots=True)
class Finding:
    """One way to compute the model compared with the yardstick.

    `stage` is a graph (`imported`, or the pass after which it was taken) evaluated by our
    reference, `program` for the compiled one, a peer's name, or `program and` a peer's name for
    these two compared with each other. What is not `judged` is told and does not fail the check: a
    peer is not ours, and one that is itself far from the yardstick proves nothing.
    """

    stage: str
    differences: tuple[Difference, ...]
    seconds: float
    changed: bool = True
    judged: bool = True

    @property
    def error(self) -> float:
        """The worst error of all outputs, relative to their scales."""
        return worst(self.differences)


@dataclass(frozen=True, slots=True)
class Verdict:
    """All findings on one model. `yardstick` says what they were compared with, `note` why."""

    yardstick: str
    note: str
    findings: tuple[Finding, ...]
    tolerance: float
    making: Mapping[str, Any]
    """When and why code was made, as `making_json` says it."""

    @property
    def ok(self) -> bool:
        """Whether every finding is within the tolerance."""
        return all(f.error <= self.tolerance for f in self.findings if f.judged)


def check_model(
    model: bytes | Path,
    *,
    pipeline: str = "default",
    precision: str = "f32",
    shapes: Mapping[str, Sequence[int]] | None = None,
    seed: int = 0,
    peers: Sequence[str] = (),
    tolerance: float = TOLERANCE,
    tell: Progress = lambda step, event: None,
) -> Verdict:
    """Compare every pass's graph, the program and the peers with the yardstick, on random inputs.

    Errors: what reading and compiling the model raise.
    """
    graph = compiler.load(model)
    inputs = random_inputs(graph, seed, shapes)
    given = {k: v.shape for k, v in inputs.items() if hasattr(v, "shape")}
    tell("compiling", None)
    program = compiler.compile(
        graph, pipeline=pipeline, precision=precision, inputs=given, progress=tell
    )
    tell(YARDSTICK, None)
    expected, note = run_reference(model, inputs)
    yardstick = YARDSTICK
    if expected is None:
        expected, yardstick = compiler.reference(graph, inputs), OURS
    compared = _Comparison(expected, tell)
    findings = [compared.of("imported", lambda: compiler.reference(graph, inputs))]
    assert program.trace is not None, "the trace is kept"
    for event in program.trace.events:
        if event.changed:
            after = event.after
            findings.append(compared.of(event.name, lambda g=after: compiler.reference(g, inputs)))
        else:
            findings.append(Finding(event.name, findings[-1].differences, 0.0, changed=False))
    findings.append(compared.of("program", lambda: program.run(inputs)))
    for name in peers:
        peer = load_peer(name, model)
        theirs = compared.of(name, lambda p=peer: p.run(inputs))
        both = _Comparison(peer.run(inputs), tell).of(
            f"program and {name}", lambda: program.run(inputs)
        )
        findings.append(replace(theirs, judged=False))
        findings.append(replace(both, judged=theirs.error <= tolerance))
    return Verdict(yardstick, note, tuple(findings), tolerance, making_json(program))


@dataclass(frozen=True, slots=True)
class _Comparison:
    expected: Mapping[str, Any]
    tell: Progress

    def of(self, stage: str, compute: Callable[[], Mapping[str, Any]]) -> Finding:
        self.tell(stage, None)
        start = perf_counter()
        made = compute()
        return Finding(stage, compare(made, self.expected), perf_counter() - start)


@click.command()
@model_argument()
@pipeline_options()
@shape_option()
@random_weights_option()
@click.option("--seed", default=0, show_default=True, help="Of the random inputs.")
@click.option("--tolerance", default=TOLERANCE, show_default=True, type=click.FloatRange(min=0),
              help="Largest error relative to an output's scale.")  # fmt: skip
@click.option("--peers", default=None, metavar="PEER,...",
              help="Runtimes to compare with; by default those that are installed.")  # fmt: skip
@reporting
@click.pass_context
def command(
    ctx: click.Context,
    model: Path,
    pipeline: str,
    precision: str,
    shapes: tuple[tuple[str, tuple[int, ...]], ...],
    weights_seed: int | None,
    seed: int,
    tolerance: float,
    peers: str | None,
) -> None:
    """Check MODEL after every pass and as a program against onnx.reference and other runtimes."""
    chosen = _peers(peers)
    with progress(f"checking {model.name}") as tell:
        verdict = check_model(
            model_bytes(model, weights_seed),
            pipeline=pipeline,
            precision=precision,
            shapes=named_shapes(shapes),
            seed=seed,
            peers=chosen,
            tolerance=tolerance,
            tell=tell,
        )
    report(_json(model, verdict), lambda c: _show(c, model, verdict))
    if not verdict.ok:
        ctx.exit(1)


def _peers(text: str | None) -> list[str]:
    if text is None:
        return [p for p in ("onnxruntime",) if installed(p)]
    return [p.strip() for p in text.split(",") if p.strip()]


def _json(model: Path, verdict: Verdict) -> dict[str, Any]:
    return {
        "ok": verdict.ok,
        "model": str(model),
        "yardstick": verdict.yardstick,
        "note": verdict.note,
        "tolerance": verdict.tolerance,
        **verdict.making,
        "worst_relative_error": max((f.error for f in verdict.findings if f.judged), default=0.0),
        "stages": [
            {
                "stage": f.stage,
                "changed": f.changed,
                "judged": f.judged,
                "seconds": f.seconds,
                "relative_error": f.error,
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
            }
            for f in verdict.findings
        ],
    }


def _show(console: Console, model: Path, verdict: Verdict) -> None:
    console.print(
        table(
            ["stage", ">relative error", "", "worst output", ">time"],
            _rows(verdict),
            f"{model.name} against {verdict.yardstick}",
        )
    )
    if verdict.note:
        console.print(verdict.note)
    for line in making_lines(verdict.making):
        console.print(line)
    console.print(
        f"{'passed' if verdict.ok else 'FAILED'}: tolerance {verdict.tolerance:.0e} of each "
        "output's largest magnitude"
    )


def _rows(verdict: Verdict) -> Iterator[tuple[str, ...]]:
    for f in verdict.findings:
        if not f.changed:
            yield (f.stage, "", "changed nothing", "", "")
            continue
        bad = max(f.differences, key=lambda d: d.relative_error, default=None)
        mark = "ok" if f.error <= verdict.tolerance else "TOO LARGE" if f.judged else "far off"
        place = "" if bad is None else f"{bad.name} {bad.note}".strip()
        yield (f.stage, f"{f.error:.2e}", mark, place, seconds_text(f.seconds))
