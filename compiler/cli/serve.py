"""`serve`: the web playground."""

from __future__ import annotations

import importlib
from pathlib import Path

import click

from compiler.errors import CompileError


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535))
@click.option(
    "--data-folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where uploads and results are kept, instead of the user's own folder for them.",
)
def command(host: str, port: int, data_folder: Path | None) -> None:
    """Serve the web playground until interrupted."""
    from werkzeug.serving import make_server

    # The page imports the compiler, never the reverse: so it is found by name, and only here.
    settings = {} if data_folder is None else {"data_folder": data_folder}
    app = importlib.import_module("app").create_app(settings)
    try:
        server = make_server(host, port, app, threaded=True)
    except (OSError, SystemExit) as e:
        reason = e.strerror if isinstance(e, OSError) else "the port is taken"
        raise CompileError(
            "E-OPTION-VALUE",
            f"cannot listen on {host}:{port}: {reason}",
            hint="choose another --port; 0 takes any that is free",
        ) from e
    shown = f"[{host}]" if ":" in host else host
    click.echo(f"Compilarium is at http://{shown}:{server.server_port}/ (Ctrl-C ends it)")
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        click.echo("ended")
    finally:
        server.server_close()
