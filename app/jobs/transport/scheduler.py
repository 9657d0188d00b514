"""The scheduler of a Dask cluster: its permitted addresses, and the security of connections.

Dask exchanges pickles, which are code. So whoever reaches a scheduler without TLS can run programs
on all of its workers, and in the processes that send jobs.
"""

from __future__ import annotations

import importlib.util
import ipaddress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from app.config import Settings
from compiler.errors import CompileError

SCHEDULER_FILES = ("scheduler_authority", "scheduler_certificate", "scheduler_key")
"""The settings that name the files for TLS."""
_EXAMPLE = "--scheduler tls://HOST:8786"


def require_scheduler(settings: Settings) -> None:
    """Refuse settings with which a Dask cluster is unusable or not secure.

    Errors: E-OPTION-VALUE.
    """
    if settings.engine != "dask":
        return
    if importlib.util.find_spec("distributed") is None:
        message = "the engine dask needs the package distributed, which is not installed"
        raise CompileError("E-OPTION-VALUE", message, hint="pip install 'compilarium[dask]'")
    scheme, host = _parts(settings.scheduler)
    if scheme == "tls":
        _require_files(settings)
    elif not _is_loopback(host):
        _require_permission(settings, host)


def security_of(settings: Settings) -> Any:
    """Return the certificates of connections to the scheduler; None without TLS."""
    if _parts(settings.scheduler)[0] != "tls":
        return None
    from distributed.security import Security

    return Security(
        require_encryption=True,
        tls_ca_file=str(settings.scheduler_authority),
        tls_client_cert=str(settings.scheduler_certificate),
        tls_client_key=str(settings.scheduler_key),
    )


def _parts(address: str) -> tuple[str, str]:
    """Return the protocol and the host of an address. Errors: E-OPTION-VALUE."""
    try:
        found = urlsplit(address)
        scheme, host, port = found.scheme, found.hostname, found.port
    except ValueError:
        scheme, host, port = "", None, None
    if scheme not in ("tcp", "tls") or not host or not port:
        message = f"the engine dask needs the address of a scheduler, got {address!r:.80}"
        raise CompileError("E-OPTION-VALUE", message, hint=_EXAMPLE)
    return scheme, host


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _require_files(settings: Settings) -> None:
    for name in SCHEDULER_FILES:
        file: Path | None = getattr(settings, name)
        if file is None or not file.is_file():
            message = f"a scheduler with TLS needs the setting {name}"
            message += f", and there is no file {file}" if file else ""
            raise CompileError("E-OPTION-VALUE", message, hint="check the path")


def _require_permission(settings: Settings, host: str) -> None:
    """Require the setting `insecure_scheduler`, and an address that is not public."""
    risk = "whoever reaches it can run programs on all machines of the cluster"
    if _is_public(host):
        message = f"the scheduler at the public address {host} has no TLS, and {risk}"
        raise CompileError("E-OPTION-VALUE", message, hint=_EXAMPLE)
    if not settings.insecure_scheduler:
        message = f"the scheduler at {host} has no TLS, and {risk}"
        hint = f"{_EXAMPLE}, or accept this in a private network with --insecure-scheduler"
        raise CompileError("E-OPTION-VALUE", message, hint=hint)


def _is_public(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        return False
