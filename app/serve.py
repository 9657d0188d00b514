"""The server that `compilarium serve` starts: its address, its protection, and its run."""

from __future__ import annotations

import errno
import ipaddress
import logging
import socket
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

from app.blob_store import blobs_of
from app.config import Settings
from app.jobs.transport.scheduler import require_scheduler
from app.logs import configure_logs
from app.metrics.folder import shared_counts
from app.paths import site_folder
from app.store.database import Database
from compiler.errors import CompileError

log = logging.getLogger("compilarium.web")

_BACKLOG = 128
_UPLOADS_KEPT = 4
"""The server can store at least this number of uploads of the maximum size."""


def serve(settings: Settings, *, say: Callable[[str], None] = print) -> None:
    """Serve the playground until interrupted; report its URL once through `say`.

    Errors: E-OPTION-VALUE if the server cannot, or must not, listen at this address, or if a
    package of the blob store is absent; E-SERVER-PLATFORM on Windows; and those of
    `require_scheduler`.
    """
    require_unix(sys.platform)
    settings = completed(settings)
    require_protection(settings)
    blobs_of(settings).require()
    require_scheduler(settings)
    configure_logs(settings.log_format, requests=settings.log_requests)
    if not (site_folder("static") / "dist" / "main.js").is_file():
        log.warning("the page is not bundled and will stay empty: run `python hatch_build.py`")
    listening = listen(settings.host, settings.port)
    # Ahead of the workers, which gunicorn ends if they start too slowly.
    database = Database(settings.used_database_url)
    database.prepare()
    database.close()
    url = address(settings.host, listening.getsockname()[1], is_secure=bool(settings.certificate))
    from app.gunicorn_server import Server  # imports fcntl, which Windows lacks
    from app.jobs.supervisor_process import kept_supervisor

    def ready() -> None:
        say(f"Compilarium is at {url} (Ctrl+C ends it)")

    with shared_counts(settings.data_folder), ExitStack() as stack:
        server = Server(replace(settings, supervisor="outside"), listening, ready)
        if settings.supervisor == "inside":
            server.after_fork = stack.enter_context(kept_supervisor(settings)).forget
        server.serve()


def require_unix(platform: str) -> None:
    """Raise E-SERVER-PLATFORM on Windows: gunicorn and the fork server need a Unix system."""
    if platform == "win32":
        message = "the server forks processes, and Windows cannot"
        raise CompileError("E-SERVER-PLATFORM", message)


def completed(settings: Settings) -> Settings:
    """Return the settings of a server, completed with derived values.

    The host in a request to a local server must be a name of this machine.
    """
    kept = max(settings.uploads_kept_bytes, _UPLOADS_KEPT * settings.upload_limit_bytes)
    settings = replace(settings, uploads_kept_bytes=kept)
    if settings.trusted_hosts is None and is_local(settings.host):
        # A bracketed IPv6 address is trusted: only names can be rebound to another machine.
        names = ("localhost", "127.0.0.1", "[::1]", settings.host.partition(":")[0])
        settings = replace(settings, trusted_hosts=names)
    return settings


def require_protection(settings: Settings) -> None:
    """Refuse to serve a network without a sandbox, or without TLS unless the settings permit this.

    Errors: E-OPTION-VALUE.
    """
    if (settings.certificate is None) != (settings.key is None):
        message = "TLS needs both a certificate and its key"
        raise CompileError("E-OPTION-VALUE", message, hint="give --certificate and --key")
    if settings.unsandboxed_local and not is_local(settings.host):
        message = f"--unsandboxed-local is for a server at 127.0.0.1, not at {settings.host}"
        raise CompileError("E-OPTION-VALUE", message, hint="install bubblewrap instead")
    for file in (settings.certificate, settings.key):
        if file is not None and not file.is_file():
            raise CompileError("E-OPTION-VALUE", f"there is no file {file}", hint="check the path")
    if not is_local(settings.host) and settings.certificate is None and not settings.insecure:
        raise CompileError(
            "E-OPTION-VALUE",
            f"{settings.host} can be reached from a network, and without TLS everybody in this "
            "network can read and change the traffic",
            hint="give --certificate and --key, or accept this with --insecure",
        )


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket. Errors: E-OPTION-VALUE."""
    try:
        return socket.create_server((host, port), family=_family(host), backlog=_BACKLOG)
    except OSError as e:
        reason = "is in use" if e.errno == errno.EADDRINUSE else f"cannot be used: {e.strerror}"
        raise CompileError(
            "E-OPTION-VALUE", f"{host} port {port} {reason}", hint="choose another --port"
        ) from None


def is_local(host: str) -> bool:
    """Return whether a server at this host is reachable only from this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def address(host: str, port: int, *, is_secure: bool = False) -> str:
    """Return the URL for a browser."""
    scheme = "https" if is_secure else "http"
    shown = "127.0.0.1" if host in ("0.0.0.0", "::") else host
    return f"{scheme}://[{shown}]:{port}/" if ":" in shown else f"{scheme}://{shown}:{port}/"


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
