"""`serve`: start the web playground."""

from __future__ import annotations

from pathlib import Path

import click

from compilarium.options import Bytes


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address of the server.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535),
              help="Port of the server; 0: any free port.")  # fmt: skip
@click.option(
    "--data-folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for uploads and results; default: the user's data folder.",
)
@click.option(
    "--upload-limit",
    type=Bytes(),
    metavar="SIZE",
    help="Largest model file that the page accepts, such as 500MB; default: 64MB.",
)
@click.option(
    "--unsandboxed-local",
    is_flag=True,
    help="Where no sandbox can be built, run your own models without one; "
    "only for a server at 127.0.0.1.",
)
def command(
    host: str,
    port: int,
    data_folder: Path | None,
    upload_limit: int | None,
    unsandboxed_local: bool,
) -> None:
    """Serve the web playground until interrupted."""
    from app.serve import serve  # imports Flask, which `--help` does not need

    serve(
        host,
        port,
        data_folder=data_folder,
        upload_limit_bytes=upload_limit,
        unsandboxed_local=unsandboxed_local,
        say=click.echo,
    )
