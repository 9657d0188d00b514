"""`why`: report the effects of passes on a node, or the reason why two nodes are fused or not."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from compilarium.options import (
    load_model,
    model_argument,
    named_shapes,
    pipeline_option,
    random_weights_option,
    shape_option,
)
from compilarium.output import progress, report, reporting
from compiler.ir.infer import specialize
from compiler.ledger import Answer, Chapter, Fate, Ledger
from compiler.passes import run_pipeline


@click.command()
@model_argument()
@click.argument("nodes", nargs=-1, required=True, metavar="NODE [NODE]")
@pipeline_option()
@shape_option()
@random_weights_option()
@reporting
def command(
    model: Path,
    nodes: tuple[str, ...],
    pipeline: str,
    shapes: tuple[tuple[str, tuple[int, ...]], ...],
    weights_seed: int | None,
) -> None:
    """Report the effects of passes on a node of MODEL, or why two nodes are fused or not.

    A NODE is the name of a node of the model, or of a value that the node computes.
    """
    first, *others = nodes
    if len(others) > 1:
        raise click.UsageError("expected one or two nodes")
    with progress(f"optimizing {model.name}"):
        graph = load_model(model, weights_seed)
        if shapes:
            graph = specialize(graph, named_shapes(shapes))
        ledger = Ledger(run_pipeline(graph, pipeline)[1])
    found = ledger.why(first, others[0]) if others else ledger.fate(first)
    report({"ok": True, "model": str(model), **_json(found)}, lambda c: _show(c, found))


def _json(found: Fate | Answer) -> dict[str, Any]:
    told = asdict(found)
    return {**told, "chapters": [_chapter_json(c) for c in found.chapters]}


def _chapter_json(c: Chapter) -> dict[str, Any]:
    step = c.step
    return {
        "event": c.event,
        "pass": c.pass_name,
        "rule": step.rule,
        "outcome": step.outcome,
        "because": step.because,
        "at": step.at,
        "took": list(step.took),
        "made": list(step.made),
        "error": step.error,
        "source": step.source,
    }


def _show(console: Console, found: Fate | Answer) -> None:
    console.print(str(found), markup=False, highlight=False)
