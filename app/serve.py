"""The server that `compilarium serve` starts: a thread per connection, and a supervisor of jobs.

Werkzeug's threaded server suffices: an event stream occupies only a thread, which is cheap, and
compilations run in child processes of the supervisor, a process of its own. A refused body is read
to its end, so the browser receives the answer instead of a broken connection.
"""

from __future__ import annotations

import errno
import ipaddress
import logging
import signal
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from flask import Flask
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from app import create_app
from app.config import Settings
from app.jobs.queue import JobQueue
from app.jobs.supervisor_process import kept_supervisor
from app.paths import site_folder
from compiler.errors import CompileError

log = logging.getLogger("compilarium.web")

_SILENT_CONNECTION_S = 75.0
_BACKLOG = 128
_UPLOADS_KEPT = 4
"""The server has room for at least this number of uploads of the maximum size."""


class Handler(WSGIRequestHandler):
    """Handles a request, with a timeout for idle connections, and logs only failures."""

    protocol_version = "HTTP/1.1"
    timeout = _SILENT_CONNECTION_S

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Log only failures of the server."""
        if str(code).startswith("5"):
            log.warning("%s answered %s", self.requestline[:200], code)

    def log_error(self, format: str, *args: Any) -> None:
        """Ignore broken and idle connections."""
        log.debug(format, *args)

    def version_string(self) -> str:
        """Return the server's name without versions."""
        return "compilarium"


def serve(
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    data_folder: Path | None = None,
    upload_limit_bytes: int | None = None,
    say: Callable[[str], None] = print,
) -> None:
    """Serve the playground until interrupted; report its URL once through `say`.

    Port 0 selects a free port. The host in a request to a local server must be a name of this
    machine.
    Errors: E-OPTION-VALUE if the server cannot listen at this address.
    """
    settings = settings_for(host, data_folder, upload_limit_bytes)
    app = create_app(replace(settings, supervisor="outside"))
    server = listen(app, host, port)
    jobs: JobQueue = app.extensions["jobs"]
    jobs.warm_up()
    words = f"Compilarium is at {address(host, server.port)} (Ctrl+C ends it)"
    with kept_supervisor(settings):
        answer_requests(app, server, lambda: say(words))


def answer_requests(app: Flask, server: BaseWSGIServer, said: Callable[[], None]) -> None:
    """Answer requests until interrupted."""
    previous = signal.signal(signal.SIGTERM, _interrupt)
    try:
        said()
        server.serve_forever(poll_interval=0.2)
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, previous)
        app.extensions["jobs"].stop()
        app.extensions["texts"].stop()
        server.server_close()


def settings_for(
    host: str, data_folder: Path | None, upload_limit_bytes: int | None = None
) -> Settings:
    """Return the settings of a server at this host; None means the default."""
    differences: dict[str, Any] = {}
    if upload_limit_bytes is not None:
        differences["upload_limit_bytes"] = upload_limit_bytes
        kept = max(Settings().uploads_kept_bytes, _UPLOADS_KEPT * upload_limit_bytes)
        differences["uploads_kept_bytes"] = kept
    if data_folder is not None:
        differences["data_folder"] = data_folder
    if is_local(host):
        # A bracketed IPv6 address is trusted: only names can be rebound to another machine.
        differences["trusted_hosts"] = ("localhost", "127.0.0.1", "[::1]", host.partition(":")[0])
    return Settings.of(differences)


def listen(app: Flask, host: str, port: int) -> BaseWSGIServer:
    """Create a listening server. Errors: E-OPTION-VALUE."""
    if not (site_folder("static") / "dist" / "main.js").is_file():
        log.warning("the page is not bundled and will stay empty: run `python hatch_build.py`")
    try:
        # Created here, because Werkzeug exits the program when an address is in use.
        with socket.create_server(
            (host, port), family=_family(host), backlog=_BACKLOG
        ) as listening:
            server = make_server(
                host,
                listening.getsockname()[1],
                app,
                threaded=True,
                request_handler=Handler,
                fd=listening.fileno(),
            )
    except OSError as e:
        reason = "is in use" if e.errno == errno.EADDRINUSE else f"cannot be used: {e.strerror}"
        raise CompileError(
            "E-OPTION-VALUE", f"{host} port {port} {reason}", hint="choose another --port"
        ) from None
    return server


def is_local(host: str) -> bool:
    """Return whether a server at this host is reachable only from this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def address(host: str, port: int) -> str:
    """Return the URL for a browser."""
    shown = "127.0.0.1" if host in ("0.0.0.0", "::") else host
    return f"http://[{shown}]:{port}/" if ":" in shown else f"http://{shown}:{port}/"


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
