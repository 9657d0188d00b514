"""The sender of a request: a browser session, if the request names one, and a network address.

The page sets a cookie with a random session. A session is no login: it only distinguishes readers
behind one address. A client can create any number of sessions, so limits also count by address.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
import secrets
from dataclasses import dataclass

from flask import Flask, Response, request

_COOKIE = "compilarium-session"
_SESSION = re.compile(r"[A-Za-z0-9_-]{22}")
_PAGES = frozenset({"page.page", "page.shared_page", "learn.lesson"})
_IPV6_PREFIX = 64
"""Length of an IPv6 prefix in bits; a subscriber may use all addresses with the same prefix."""


@dataclass(frozen=True, slots=True)
class Client:
    """The sender of a request. `session` is "" without a cookie."""

    session: str
    address: str

    @property
    def key(self) -> str:
        """A digest of the session, else of the address, so stored data identify nobody."""
        return _digest("session" if self.session else "address", self.session or self.address)

    @property
    def address_key(self) -> str:
        """A digest that all clients at the same address share."""
        return _digest("everyone", self.address)


def register(app: Flask) -> None:
    """Give each browser that opens the page a session."""
    app.after_request(_begin_session)


def client() -> Client:
    """Return the sender of the current request."""
    return Client(_session(), _network(request.remote_addr or ""))


def _session() -> str:
    sent = request.cookies.get(_cookie(), "")
    return sent if _SESSION.fullmatch(sent) else ""


def _cookie() -> str:
    """Return the name of the cookie; with TLS, no other host can set a cookie of this name."""
    return f"__Host-{_COOKIE}" if request.is_secure else _COOKIE


def _network(address: str) -> str:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if found.version == 4:
        return str(found)
    if found.ipv4_mapped:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found.packed, _IPV6_PREFIX), strict=False))


def _digest(kind: str, name: str) -> str:
    return hashlib.blake2b(f"{kind} {name}".encode(), digest_size=16).hexdigest()


def _begin_session(response: Response) -> Response:
    if request.endpoint in _PAGES and response.status_code == 200 and not _session():
        response.set_cookie(
            _cookie(),
            secrets.token_urlsafe(16),
            secure=request.is_secure,
            httponly=True,
            samesite="Lax",
        )
        response.headers["Cache-Control"] = "no-store"
    return response
