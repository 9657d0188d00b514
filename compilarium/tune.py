"""`tune`: find faster schedules for a model's kernels on this machine."""

from __future__ import annotations

import re
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
)
from compilarium.output import progress, report, reporting, table
from compiler.bench.timing import pinned
from compiler.errors import CompileError
from compiler.tuning.report import KernelReport, TuningReport
from compiler.tuning.tune import SEARCHES, SearchName, tune
from compiler.units import count_text, seconds_text

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


class Duration(click.ParamType):
    """A duration such as `90`, `90s`, `1.5m` or `2h`, in seconds."""

    name = "TIME"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the seconds."""
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|min|m|h|)", str(value).strip())
        if found is None or not float(found[1]):
            raise CompileError("E-OPTION-VALUE", f"expected a time such as 60s, got {value!r:.40}")
        return float(found[1]) * _UNITS[found[2]]


@click.command()
@model_argument()
@click.option("--budget", type=Duration(), default="60s", show_default=True,
              help="Time of the whole search, such as 90s or 1.5m.")  # fmt: skip
@click.option("--search", type=click.Choice(list(SEARCHES)), default=None,
              show_default="annealing, or genetic without xgboost",
              help="Search strategy for candidates.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True,
              help="Seed of the search.")  # fmt: skip
@click.option("--database", type=click.Path(path_type=Path, dir_okay=False),
              help="Database for results, instead of the user's cache.")  # fmt: skip
@shape_option()
@pipeline_options()
@random_weights_option()
@reporting
def command(
    model: Path,
    budget: float,
    search: SearchName | None,
    seed: int,
    database: Path | None,
    shapes: tuple[tuple[str, tuple[int, ...]], ...],
    pipeline: str,
    precision: str,
    weights_seed: int | None,
) -> None:
    """Find faster schedules for MODEL's kernels by measurement, for use in later compilations.

    Ctrl-C saves the results so far, and a later run continues from these results.
    """
    with progress(f"tuning {model.name}") as tell, pinned():
        done = tune(
            load_model(model, weights_seed),
            budget_seconds=budget,
            search=search,
            seed=seed,
            database=database,
            tell=lambda what: tell(what, None),
            inputs=named_shapes(shapes),
            pipeline=pipeline,
            precision=precision,
        )
    report({"ok": True, "model": str(model), **done.to_json()}, lambda c: _show(c, done))


def _show(console: Console, done: TuningReport) -> None:
    columns = ["kernel", ">share", ">before", ">after", ">times", ">tried", ">refused", ">wrong",
               ">failed", "stopped", ""]  # fmt: skip
    console.print(table(columns, map(_row, done.kernels)))
    if done.interrupted:
        console.print("Interrupted: the results so far are saved.")
    console.print(
        f"{count_text(done.n_kept, 'kernel')} of {len(done.kernels)} examined "
        f"{'has' if done.n_kept == 1 else 'have'} a faster schedule, saved in {done.database}."
    )
    console.print(
        f"One run of the model: {seconds_text(done.untuned_seconds)} untuned, "
        f"{seconds_text(done.tuned_seconds)} tuned ({done.speedup:.3f} times as fast)."
    )


def _row(k: KernelReport) -> tuple[Any, ...]:
    name = k.name if k.n_launches == 1 else f"{k.name} (and {k.n_launches - 1} more)"
    times = [seconds_text(s) if k.kept else "" for s in (k.untuned_seconds, k.seconds)]
    outcomes = [k.outcomes[o] or "" for o in ("refused", "wrong", "failed")]
    speedup = f"{k.speedup:.2f}" if k.kept else ""
    share = f"{100 * k.share:.1f} %"
    return (name, share, *times, speedup, k.n_tried, *outcomes, k.why_stopped, k.because)
