"""Who sends a request: a browser session, if the request names one, and a network address.

The page sets a cookie with a random session. A session is no login: it only tells apart the readers
behind one address. A client can have as many sessions as it likes, so limits also count by address.
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
_PAGES = frozenset({"page.page", "page.shared_page"})
_IPV6_PREFIX = 64
"""Bits of an IPv6 address that identify a subscriber, who may use all addresses behind them."""


@dataclass(frozen=True, slots=True)
class Client:
    """The sender of a request. `session` is "" without a cookie."""

    session: str
    address: str

    @property
    def key(self) -> str:
        """The narrowest name of the client: a digest, so nothing stored names anyone."""
        return _digest("session" if self.session else "address", self.session or self.address)

    @property
    def address_key(self) -> str:
        """The name of everyone at the client's address."""
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
