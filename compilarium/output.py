"""Output of commands: JSON for scripts, tables for users, and progress on the error stream."""

from __future__ import annotations

import errno
import json
import math
import os
import shutil
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table

from compiler.errors import CompileError
from compiler.trace import Event

_JSON = "compilarium.json"


def reporting(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option `--json` to a command; the command calls `wants_json` to query the option."""
    return click.option(
        "--json",
        is_flag=True,
        expose_value=False,
        callback=_note_json,
        is_eager=True,
        help="Print JSON instead of a table.",
    )(command)


def _note_json(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    ctx.meta[_JSON] = value


def wants_json(ctx: click.Context | None = None) -> bool:
    """Return whether `--json` was given."""
    return bool((ctx or click.get_current_context()).meta.get(_JSON, False))


def print_json(data: Any) -> None:
    """Print one JSON document; NaN and infinities, which JSON lacks, become null."""
    click.echo(json.dumps(_plain(data), ensure_ascii=False, indent=2))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def report(data: Any, show: Callable[[Console], None]) -> None:
    """Print the data as JSON if `--json` was given, else call `show` with a console."""
    if wants_json():
        print_json(data)
    else:
        show(console())


def console() -> Console:
    """Return a console on the standard output, with 160 columns if the output is not a terminal."""
    made = Console(highlight=False, emoji=False, markup=False)
    return (
        made if made.is_terminal else Console(highlight=False, emoji=False, markup=False, width=160)
    )


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], title: str = "") -> Table:
    """Return a table; columns whose names start with `>` are right-aligned."""
    made = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD)
    for c in columns:
        made.add_column(c.removeprefix(">"), justify="right" if c.startswith(">") else "left")
    for row in rows:
        made.add_row(*map(str, row))
    return made


Progress = Callable[[str, Event | None], None]


@contextmanager
def progress(what: str) -> Generator[Progress]:
    """Show the current step on the error stream, if the stream is a terminal."""
    stream = Console(stderr=True, highlight=False, emoji=False, markup=False)
    if not stream.is_terminal:
        yield lambda step, event: None
        return
    with stream.status(what) as status:

        def tell(step: str, event: Event | None) -> None:
            status.update(f"{what}: {step}")

        yield tell


def write_output(path: Path, data: str | bytes) -> None:
    """Write a file atomically; if writing fails, the file keeps its previous content. Errors:
    E-OUTPUT-FILE."""
    raw = data if isinstance(data, bytes) else data.encode()
    try:
        is_other = path.exists() and not path.is_file()  # A device or a pipe.
        if is_other or (path.is_file() and not os.access(path.resolve().parent, os.W_OK)):
            path.write_bytes(raw)
        else:
            _replace(path.resolve(), raw)
    except OSError as e:
        raise CompileError("E-OUTPUT-FILE", f"{path}: {e.strerror or e}") from e


def _replace(path: Path, raw: bytes) -> None:
    """Write a temporary file with the permissions of the target, and rename it to the target."""
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    made = path.with_name(f".{os.getpid()}.new")
    try:
        made.write_bytes(raw)
        if path.exists():
            shutil.copymode(path, made)
        made.replace(path)
    finally:
        made.unlink(missing_ok=True)
