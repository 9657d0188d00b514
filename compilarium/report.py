"""`report`: write a model's complete analysis to one HTML file."""

from __future__ import annotations

from pathlib import Path

import click

from compilarium.options import (
    model_argument,
    named_shapes,
    pipeline_options,
    shape_option,
    threads_option,
    without_option,
)
from compilarium.output import print_json, progress, reporting, wants_json, write_output


@click.command()
@model_argument()
@pipeline_options()
@click.option("--target", default="host", show_default=True, help="Machine to generate code for.")
@threads_option()
@shape_option()
@without_option()
@click.option("--find", multiple=True, metavar="KIND[:NAME=VALUE,...]",
              help="Additional analyses, written as in the page's requests: check, "
              "place:platform=gpu,ahead=0, profile:seconds=2, tune:budget_seconds=20, "
              "targets:kernel=3, bisect:moved=0; repeatable.")  # fmt: skip
@click.option("--view", default="", metavar="STATE",
              help="Initial view: the text after # in the page's URL.")  # fmt: skip
@click.option("--seed", default=0, show_default=True, help="Seed of the random inputs.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="File for the report; default: MODEL.report.html.",
)
@reporting
def command(
    model: Path,
    pipeline: str,
    precision: str,
    target: str,
    threads: int,
    shapes: tuple[tuple[str, tuple[int, ...]], ...],
    without: tuple[str, ...],
    find: tuple[str, ...],
    view: str,
    seed: int,
    output: Path | None,
) -> None:
    """Write a self-contained page that shows how MODEL was compiled."""
    from compilarium.report_file import make_report  # imports Flask, as in serve

    with progress(f"compiling {model.name}") as tell:
        html = make_report(
            model,
            pipeline=pipeline,
            shapes=named_shapes(shapes) or {},
            options={"precision": precision, "target": target, "threads": threads, "seed": seed},
            without=without,
            find=find,
            view=view,
            say=lambda words: tell(words, None),
        )
    path = output or Path(f"{model.stem}.report.html")
    write_output(path, html)
    if wants_json():
        print_json({"ok": True, "output": str(path), "bytes": len(html.encode())})
    else:
        click.echo(f"{path}: {len(html.encode()):,} bytes")
