"""`work`: run the jobs of servers that share the database and the blob store."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import click

from compilarium.options import cluster_options


@click.command()
@click.option(
    "--data-folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the data of this machine, or the data folder of the servers; "
    "default: the user's data folder.",
)
@click.option("--database", "database_url", metavar="URL",
              help="Database of the servers; default: SQLite in the data folder.")  # fmt: skip
@click.option("--blob-store", metavar="PLACE",
              help="Uploads and results of the servers: a shared folder or a URL such as "
                   "s3://bucket/prefix; default: the data folder.")  # fmt: skip
@click.option("--workers", "n_workers", type=click.IntRange(1, 256), metavar="N",
              help="Number of jobs that run at a time; default: 2.")  # fmt: skip
@cluster_options()
@click.option("--config", "file", type=click.Path(dir_okay=False, path_type=Path),
              help="TOML file with settings.")  # fmt: skip
def command(file: Path | None, **options: Any) -> None:
    """Run jobs on this machine until interrupted; start one such process per machine.

    Settings come from options, then from variables COMPILARIUM_NAME, then from the TOML file.
    """
    from app.configuration import read_configuration  # `--help` needs no imports of the server
    from app.jobs.supervisor_process import set_at_signals, work
    from app.logs import configure_logs

    settings = read_configuration(options, os.environ, file).settings
    configure_logs(settings.log_format)
    stopping = threading.Event()
    set_at_signals(stopping)
    where = "run here" if settings.engine == "local" else f"are sent to {settings.scheduler}"
    click.echo(f"jobs of {settings.stored_place} {where} (Ctrl+C ends this)")
    work(settings, stopping)
