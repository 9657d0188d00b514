"""Routes for operators: /livez, /readyz and /metrics."""

from __future__ import annotations

import hmac
import ipaddress
from typing import cast

from flask import Blueprint, Flask, Response, current_app, json, request
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4

from app.config import Settings
from app.metrics.exposition import Metrics
from app.readiness import ReadinessChecks
from compiler.errors import CompileError

bp = Blueprint("operations", __name__)

_FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Real-IP", "Via")


def register(app: Flask) -> None:
    """Add the routes, and begin to count requests."""
    app.extensions["metrics"] = Metrics(app)
    app.extensions["readiness"] = ReadinessChecks(app)
    app.register_blueprint(bp)


@bp.get("/livez")
def livez() -> Response:
    """Answer, as a sign that the process is alive."""
    return _fresh(Response("alive\n", mimetype="text/plain"))


@bp.get("/readyz")
def readyz() -> Response:
    """Return the findings of all checks, with the status 503 if one of them has a problem."""
    payload = cast(ReadinessChecks, current_app.extensions["readiness"]).payload()
    status = 200 if payload["ready"] else 503
    return _fresh(Response(json.dumps(payload), status, mimetype="application/json"))


@bp.get("/metrics")
def metrics() -> Response:
    """Return the figures for Prometheus. Errors: E-REQUEST-ACCESS."""
    settings: Settings = current_app.config["SETTINGS"]
    if not (_is_local(settings) or _has_token(settings.metrics_token)):
        raise CompileError("E-REQUEST-ACCESS", "the figures of the server are not public")
    text = cast(Metrics, current_app.extensions["metrics"]).text()
    return _fresh(Response(text, content_type=CONTENT_TYPE_PLAIN_0_0_4))


def _has_token(token: str) -> bool:
    sent = request.authorization
    if not token or sent is None or sent.type != "bearer" or not sent.token:
        return False
    return hmac.compare_digest(sent.token.encode(), token.encode())


def _is_local(settings: Settings) -> bool:
    """Return whether the client is on this machine, and is no proxy for another machine."""
    if not settings.trusted_proxies and any(name in request.headers for name in _FORWARDED):
        return False
    try:
        return ipaddress.ip_address(request.remote_addr or "").is_loopback
    except ValueError:
        return False


def _fresh(response: Response) -> Response:
    response.headers["Cache-Control"] = "no-store"
    return response
