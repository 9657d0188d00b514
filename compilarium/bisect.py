"""`bisect`: find a minimal set of rewrites that breaks a model, and reduce the model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from compilarium.options import (
    load_model,
    model_argument,
    named_shapes,
    pipeline_options,
    random_weights_option,
    shape_option,
    tolerance_option,
    without_option,
)
from compilarium.output import progress, report, reporting
from compiler.bisect.probe import KINDS, WAYS, Settings
from compiler.bisect.repro import read_repro, write_repro
from compiler.bisect.run import Bisection, bisect
from compiler.bisect.search import Answer
from compiler.errors import CompileError
from compiler.ir.graph import Graph
from compiler.ir.infer import specialize
from compiler.passes.engine.known_rules import all_but, require_known_rules
from compiler.passes.pipeline.precision import precision_mode
from compiler.passes.pipeline.run import run_pipeline
from compiler.passes.pipeline.text import as_pipeline
from compiler.runtime.inputs import random_inputs
from compiler.trace import Decision
from compiler.units import seconds_text


@click.command()
@model_argument(required=False)
@pipeline_options()
@shape_option()
@random_weights_option()
@without_option()
@click.option("--until", default="any", show_default=True,
              type=click.Choice(["any", *KINDS]), help="Kind of failure to find.")  # fmt: skip
@click.option("--program", is_flag=True, help="Also compare the results of the compiled program.")
@click.option("--slow", is_flag=True, help="Find rewrites that make the program slower.")
@click.option("--ratio", default=1.1, show_default=True, type=click.FloatRange(min=1),
              help="Minimum slowdown, relative to the time without rewrites.")  # fmt: skip
@click.option("--seed", default=0, show_default=True, help="Seed of the random inputs.")
@tolerance_option()
@click.option("--moved", type=click.FloatRange(min=0), metavar="PART",
              help="Find rewrites that change a result by more than PART of its largest magnitude "
              "(0: by any amount), including rounding differences.")  # fmt: skip
@click.option("--limit", default=120.0, show_default=True, type=click.FloatRange(min=1),
              help="Time limit in seconds for one compilation and its runs.")  # fmt: skip
@click.option("--memory", default=0, type=click.IntRange(min=0), metavar="MB",
              help="Memory limit for one compilation, beyond the memory in use.")  # fmt: skip
@click.option("--reduce", "reduce_seconds", default=60.0, show_default=True,
              type=click.FloatRange(min=0),
              help="Time limit in seconds for reducing the model.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="DIR",
              help="Folder for files that reproduce the failure.")  # fmt: skip
@click.option("--replay", type=click.Path(path_type=Path), metavar="DIR",
              help="Rerun a saved failure; the exit code is 1 if it persists.")  # fmt: skip
@reporting
@click.pass_context
def command(
    ctx: click.Context,
    model: Path | None,
    pipeline: str,
    precision: str,
    shapes: tuple[tuple[str, tuple[int, ...]], ...],
    weights_seed: int | None,
    without: tuple[str, ...],
    until: str,
    program: bool,
    slow: bool,
    ratio: float,
    seed: int,
    tolerance: float | None,
    moved: float | None,
    limit: float,
    memory: int,
    reduce_seconds: float,
    output: Path | None,
    replay: Path | None,
) -> None:
    """Find a minimal set of rewrites that breaks MODEL, and reduce the model.

    The exit code is 1 if a rewrite breaks the model, 0 otherwise.
    """
    if replay is not None:
        ctx.exit(_replayed(replay))
    if model is None:
        raise CompileError("E-OPTION-VALUE", "expected a MODEL, or --replay with a folder")
    mode = precision_mode(precision)
    settings = Settings(
        mode.lines(as_pipeline(pipeline)),
        "slow" if slow else "" if until == "any" else until,
        program,
        seed,
        mode.tolerance if tolerance is None else tolerance,
        ratio,
        moved,
        limit,
        memory,
        WAYS if moved is None else WAYS[:1],
        without,
    )
    graph = _specialised(load_model(model, weights_seed), shapes, seed)
    if without:
        gate = all_but(without)
        run_pipeline(graph, settings.pipeline, gate=gate)
        require_known_rules(gate)
    with progress(f"bisecting {model.name}") as tell:
        found = bisect(
            graph, settings, reduce_seconds=reduce_seconds, tell=lambda text: tell(text, None)
        )
    if output is not None and found.repro is not None:
        write_repro(output, found.repro, found.answer)
    report(_json(model, found, output), lambda c: _show(c, found, output))
    if found.answer.broken or not found.answer.stable:
        ctx.exit(1)


def _specialised(graph: Graph, shapes: tuple[tuple[str, tuple[int, ...]], ...], seed: int) -> Graph:
    """Specialise the graph for the shapes of its random inputs."""
    inputs = random_inputs(graph, seed, named_shapes(shapes))
    given = {k: v.shape for k, v in inputs.items() if hasattr(v, "shape")}
    return specialize(graph, given) if given else graph


def _replayed(folder: Path) -> int:
    """Rerun the failure saved in a folder; return exit code 1 if the failure persists, else 0."""
    repro = read_repro(folder)
    outcome = repro.run()
    fails = (outcome.kind, outcome.way) == (repro.kind, repro.way)
    data = {"ok": not fails, "kind": outcome.kind, "way": outcome.way, "detail": outcome.detail}

    def show(console: Console) -> None:
        console.print(f"still {repro.kind}: {outcome.detail}" if fails else "no longer fails")
        if outcome.failed and not fails:
            console.print(f"now a failure of another kind, {outcome.kind}: {outcome.detail}")

    report(data, show)
    return 1 if fails else 0


def _decision_json(d: Decision) -> dict[str, str]:
    return {"pass": d.pass_name, "rule": d.rule, "at": d.at}


def _json(model: Path, found: Bisection, output: Path | None) -> dict[str, Any]:
    a = found.answer
    case = None if found.repro is None else found.repro.case
    return {
        "ok": not a.broken and a.stable,
        "model": str(model),
        "broken": a.broken,
        "kind": a.kind,
        "way": a.way,
        "detail": a.detail,
        "stable": a.stable,
        "rules": a.rules,
        "rewrites": [_decision_json(d) for d in a.decisions],
        "wrong_alone": a.wrong_alone,
        "passes": a.passes,
        "last": None if a.last is None else _decision_json(a.last),
        "rewrites_before_last": a.n_before_last,
        "runs": a.n_runs,
        "seconds": a.seconds,
        "reduced": None
        if case is None
        else {"nodes": len(case.graph.nodes), "graph": str(case.graph)},
        "folder": None if output is None or case is None else str(output),
    }


def _show(console: Console, found: Bisection, output: Path | None) -> None:
    for line in _lines(found, output):
        console.print(line)


def _lines(found: Bisection, output: Path | None) -> Iterator[str]:
    a = found.answer
    runs = f"{a.n_runs} runs in {seconds_text(a.seconds)}"
    if not a.stable:
        yield f"not reproducible: {a.detail}"
        return
    if not a.broken:
        yield f"no failure ({runs})"
        return
    yield f"{a.kind}: {a.detail}"
    yield from _culprits(a)
    yield runs
    if found.repro is not None:
        graph = found.repro.case.graph
        yield f"reduced to {len(graph.nodes)} nodes:"
        yield str(graph)
        if output is not None:
            yield f"replay: compilarium bisect --replay {output}"


def _culprits(a: Answer) -> Iterator[str]:
    if a.decisions:
        yield f"number of rewrites in a minimal set that causes the failure: {len(a.decisions)}"
    for d in a.decisions:
        alone = " (wrong by itself)" if d.rule in a.wrong_alone else ""
        yield f"  {d.rule} at {d.at} in {d.pass_name}{alone}"
    if not a.decisions:
        names = ", ".join(a.passes)
        cause = f"these passes cause it: {names}" if names else "no pass causes it"
        yield f"no rewrite causes the failure; {cause}"
    if a.last is not None:
        yield (
            f"in pipeline order, the failure begins with rewrite {a.n_before_last + 1}: "
            f"{a.last.rule} at {a.last.at}"
        )
