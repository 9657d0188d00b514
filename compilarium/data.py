"""`data`: check, back up and restore the data folder of the server."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from compilarium.output import report, reporting, table
from compiler.units import bytes_text

if TYPE_CHECKING:
    from app.config import Settings
    from app.data.check import Report
    from app.data.manifest import Manifest


def _with_settings(command: Callable[..., Any]) -> Callable[..., Any]:
    command = click.option(
        "--config",
        "file",
        type=click.Path(dir_okay=False, path_type=Path),
        help="TOML file with settings.",
    )(command)
    command = click.option(
        "--blob-store", metavar="PLACE", help="Place of uploads and results; default: the folder."
    )(command)
    return click.option(
        "--data-folder",
        type=click.Path(file_okay=False, path_type=Path),
        help="Folder for uploads and results; default: the user's data folder.",
    )(command)


def _settings(data_folder: Path | None, blob_store: str | None, file: Path | None) -> Settings:
    """Return the settings of the server, which `serve` reads in the same way."""
    from app.configuration import read_configuration

    given = {"data_folder": data_folder, "blob_store": blob_store}
    return read_configuration(given, os.environ, file).settings


@click.group()
def command() -> None:
    """Check, back up and restore the data of the server: uploads, links and results."""


@command.command()
@_with_settings
@reporting
@click.pass_context
def check(
    ctx: click.Context, data_folder: Path | None, blob_store: str | None, file: Path | None
) -> None:
    """Check all data for orphans, and for damaged or missing files, which give the exit code 1.

    The folder may be a backup, which is then compared with its manifest.
    """
    from app.data.check import check

    settings = _settings(data_folder, blob_store, file)
    found = check(settings)
    data = {
        "ok": found.is_sound,
        "folder": str(settings.data_folder),
        "counts": {k: {"number": n, "bytes": size} for k, (n, size) in found.counts.items()},
        "findings": [asdict(each) for each in found.findings],
    }
    report(data, lambda c: _show_check(c, found))
    if not found.is_sound:
        ctx.exit(1)


def _show_check(console: Console, found: Report) -> None:
    rows = [(kind, n, bytes_text(size)) for kind, (n, size) in found.counts.items()]
    console.print(table(["data", ">number", ">size"], rows))
    if found.findings:
        findings = [(each.state, each.path, each.words) for each in found.findings]
        console.print(table(["state", "file", "finding"], findings))
    n_orphans = sum(each.state == "orphan" for each in found.findings)
    damages, orphans = len(found.findings) - n_orphans, n_orphans
    console.print(f"damaged or missing: {damages}, orphans: {orphans}")


@command.command()
@click.argument("target", type=click.Path(path_type=Path))
@_with_settings
@click.option("--jobs / --no-jobs", "with_jobs", default=True, show_default=True,
              help="Include the results of finished jobs.")  # fmt: skip
@reporting
def backup(
    target: Path,
    data_folder: Path | None,
    blob_store: str | None,
    file: Path | None,
    with_jobs: bool,
) -> None:
    """Copy the data folder into the new folder TARGET, while the server runs.

    TARGET has the files of the data folder, and a manifest with their digests. It omits logs,
    unfinished jobs, and databases other than SQLite.
    """
    from app.data.backup import back_up

    manifest = back_up(_settings(data_folder, blob_store, file), target, with_jobs=with_jobs)
    _report_copied(manifest, target)


@command.command()
@click.argument("source", metavar="BACKUP", type=click.Path(path_type=Path))
@_with_settings
@reporting
def restore(
    source: Path, data_folder: Path | None, blob_store: str | None, file: Path | None
) -> None:
    """Create the data folder from BACKUP; an existing data folder or blob store must be empty.

    All digests are compared with the manifest, and the database is checked, before the data folder
    appears.
    """
    from app.data.backup import restore

    settings = _settings(data_folder, blob_store, file)
    manifest = restore(source, settings)
    _report_copied(manifest, settings.data_folder)


@command.command("copy-database")
@_with_settings
@click.option("--from", "source", metavar="URL",
              help="Database to copy; default: SQLite in the data folder.")  # fmt: skip
@reporting
def copy_database(
    data_folder: Path | None, blob_store: str | None, file: Path | None, source: str | None
) -> None:
    """Copy all rows of a database into the empty database of the settings.

    This moves a server from SQLite to PostgreSQL, or back. Stop the server first.
    """
    from app.store.database import Database, sqlite_url
    from app.store.transfer import copy_rows

    settings = _settings(data_folder, blob_store, file)
    old = source or sqlite_url(settings.data_folder)
    databases = Database(old), Database(settings.used_database_url)
    try:
        copied = copy_rows(*databases)
    finally:
        for each in databases:
            each.close()
    report({"ok": True, "rows": copied}, lambda c: _show_rows(c, copied))


def _show_rows(console: Console, copied: Mapping[str, int]) -> None:
    console.print(table(["table", ">rows"], [(name, f"{n:,}") for name, n in copied.items()]))


def _report_copied(manifest: Manifest, target: Path) -> None:
    facts = {
        "ok": True,
        "folder": str(target),
        "files": len(manifest.files),
        "bytes": manifest.n_bytes,
        "database": bool(manifest.revision),
        "created": manifest.created,
        "program": manifest.program,
    }
    words = f"{target}: {len(manifest.files)} files, {bytes_text(manifest.n_bytes)}"
    without = "" if manifest.revision else "; no database"
    report(facts, lambda c: c.print(f"{words}{without}; backup of {manifest.created}"))
