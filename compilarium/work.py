"""`work`: run the jobs of servers that share the database and the data folder."""

from __future__ import annotations

import threading
from pathlib import Path

import click


@click.command()
@click.option(
    "--data-folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of uploads and results that the servers use; default: the user's data folder.",
)
@click.option("--database", default="", metavar="URL",
              help="Database of the servers; default: SQLite in the data folder.")  # fmt: skip
@click.option("--workers", type=click.IntRange(1, 256), metavar="N",
              help="Number of jobs that run at a time; default: 2.")  # fmt: skip
def command(data_folder: Path | None, database: str, workers: int | None) -> None:
    """Run jobs on this machine until interrupted; start one such process a machine."""
    from app.config import Settings  # imports that `--help` does not need
    from app.jobs.supervisor_process import set_at_signals, work

    given = {"data_folder": data_folder, "database_url": database, "n_workers": workers}
    stopping = threading.Event()
    set_at_signals(stopping)
    settings = Settings.of({name: value for name, value in given.items() if value})
    click.echo(f"jobs of {settings.data_folder} run here (Ctrl+C ends this)")
    work(settings, stopping)
