"""`conformance`: compile, run and compare the cases that onnx publishes."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import click
import onnx
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from compilarium.output import report, reporting, table, write_output
from compiler.conformance.cases import SUITES, Case, collect
from compiler.conformance.outcome import FAILED, KINDS, Outcome
from compiler.conformance.pool import SECONDS_PER_CASE, run_cases
from compiler.conformance.report import fallbacks, in_order, page, totals
from compiler.errors import CompileError

MOST_FALLBACKS_SHOWN = 20


@click.command()
@click.option("--suite", "suites", multiple=True, type=click.Choice(SUITES),
              help="A suite of onnx.backend.test; repeatable; default: all.")  # fmt: skip
@click.option("--filter", "pattern", default="", metavar="TEXT",
              help="Run only cases with TEXT in their names; * and ? are wildcards.")  # fmt: skip
@click.option("--jobs", default=os.cpu_count() or 1, show_default="processors",
              type=click.IntRange(min=1), help="Number of concurrent child processes.")  # fmt: skip
@click.option("--seconds", default=SECONDS_PER_CASE, show_default=True,
              type=click.FloatRange(min=0, min_open=True),
              help="Time limit in seconds for one case.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE.md",
              help="Also write a page of tables by operator.")  # fmt: skip
@reporting
@click.pass_context
def command(
    ctx: click.Context,
    suites: tuple[str, ...],
    pattern: str,
    jobs: int,
    seconds: float,
    output: Path | None,
) -> None:
    """Count the cases of onnx.backend.test that run natively, fall back, are rejected, or fail.

    The exit code is 1 if an output is wrong or a case crashes; rejected cases do not count as
    failures.
    """
    cases = choose([s for s in SUITES if s in suites or not suites], pattern)
    outcomes = in_order(_shown(run_cases(cases, jobs, seconds_per_case=seconds), len(cases)))
    if output is not None:
        write_output(output, page(outcomes, onnx.__version__, _again(suites, pattern, output)))
    report(_json(outcomes), lambda c: _show(c, outcomes))
    if not _ok(outcomes):
        ctx.exit(1)


def choose(suites: Iterable[str], pattern: str) -> list[Case]:
    """Return those cases of the suites whose names match the pattern. Errors: E-OPTION-VALUE for no
    match."""
    found = [c for suite in suites for c in collect(suite) if _fits(c.name, pattern)]
    if not found:
        raise CompileError(
            "E-OPTION-VALUE",
            f"no case of these suites has a name like {pattern!r:.80}",
            hint="remove --filter or --suite",
        )
    return found


def _fits(name: str, pattern: str) -> bool:
    return fnmatchcase(name, pattern) if set(pattern) & set("*?") else pattern in name


def _shown(outcomes: Iterable[Outcome], n_cases: int) -> Iterator[Outcome]:
    """Yield the outcomes; in a terminal, a progress bar on the error stream counts them."""
    stream = Console(stderr=True, highlight=False, emoji=False, markup=False)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    counts: Counter[str] = Counter()
    with Progress(
        *columns,
        TimeElapsedColumn(),
        console=stream,
        transient=True,
        disable=not stream.is_terminal,
    ) as bar:
        task = bar.add_task("conformance", total=n_cases)
        for o in outcomes:
            counts[o.kind] += 1
            told = ", ".join(f"{counts[kind]} {kind}" for kind in KINDS if counts[kind])
            bar.update(task, advance=1, description=told)
            if o.kind in FAILED:
                bar.console.print(f"{o.suite} {o.name}: {o.kind}: {o.why}", soft_wrap=True)
            yield o


def _again(suites: Sequence[str], pattern: str, output: Path) -> str:
    """Return the command line that repeats this run of the conformance tests."""
    chosen = [word for suite in suites for word in ("--suite", suite)]
    filtered = ["--filter", pattern] if pattern else []
    return shlex.join(
        ["compilarium", "conformance", *chosen, *filtered, "--output", output.as_posix()]
    )


def _ok(outcomes: Iterable[Outcome]) -> bool:
    return not any(o.kind in FAILED for o in outcomes)


def _json(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    return {
        "ok": _ok(outcomes),
        "onnx": onnx.__version__,
        "totals": totals(outcomes),
        "cases": [o.to_json() for o in outcomes],
    }


def _show(console: Console, outcomes: Sequence[Outcome]) -> None:
    rows = [(s, sum(n.values()), *n.values()) for s, n in totals(outcomes).items()]
    columns = ["suite", ">cases", *(f">{kind}" for kind in KINDS)]
    console.print(table(columns, rows, f"onnx.backend.test of onnx {onnx.__version__}"))
    _show_fallbacks(console, outcomes)
    bad = [(o.suite, o.name, o.kind, o.code, o.why) for o in outcomes if not o.is_right]
    if bad:
        console.print(table(["suite", "case", "outcome", "code", "why"], bad, "Failures"))
    console.print("passed: no wrong outputs, no crashes" if _ok(outcomes) else "FAILED")


def _show_fallbacks(console: Console, outcomes: Sequence[Outcome]) -> None:
    found = fallbacks(outcomes)
    shown = list(found.items())[:MOST_FALLBACKS_SHOWN]
    if shown:
        rows = [(op, f.cases, f.alone) for op, f in shown]
        console.print(table(["operator", ">cases", ">only fallback"], rows, "Fallbacks"))
    if len(found) > len(shown):
        console.print(f"and {len(found) - len(shown)} more: see --json or --output")
