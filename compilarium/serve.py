"""`serve`: start the web playground."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from compilarium.options import Bytes, cluster_options

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.option("--host", help="Address of the server; default: 127.0.0.1.")
@click.option("--port", type=click.IntRange(0, 65535),
              help="Port of the server; 0: any free port; default: 8000.")  # fmt: skip
@click.option(
    "--data-folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for uploads and results; default: the user's data folder.",
)
@click.option("--blob-store", metavar="PLACE",
              help="Uploads and results for several machines: a shared folder or a URL such as "
                   "s3://bucket/prefix; default: the data folder.")  # fmt: skip
@click.option(
    "--upload-limit",
    "upload_limit_bytes",
    type=Bytes(),
    metavar="SIZE",
    help="Largest model file that the page accepts, such as 500MB; default: 64MB.",
)
@click.option("--certificate", type=_FILE, help="TLS certificate with its chain, as PEM.")
@click.option("--key", type=_FILE, help="Private key of the TLS certificate, as PEM.")
@click.option("--insecure", is_flag=True, default=None,
              help="Permit an address of a network without TLS.")  # fmt: skip
@click.option("--unsandboxed-local", is_flag=True, default=None,
              help="If no sandbox can be built, run your own models without one; "
                   "only for a server at 127.0.0.1.")  # fmt: skip
@cluster_options()
@click.option("--config", "file", type=_FILE, help="TOML file with settings.")
@click.option("--show-config", is_flag=True, help="Print all settings with their sources, and end.")
def command(file: Path | None, show_config: bool, **options: Any) -> None:
    """Serve the web playground until interrupted.

    Settings come from options, then from variables COMPILARIUM_NAME, then from the TOML file.
    """
    from app.configuration import read_configuration  # `--help` needs no imports of the server

    configuration = read_configuration(options, os.environ, file)
    if show_config:
        click.echo(configuration.text(), nl=False)
        return
    from app.serve import serve

    serve(configuration.settings, say=click.echo)
