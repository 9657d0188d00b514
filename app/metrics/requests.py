"""Observes each request: counts and durations for Prometheus, and a line of the log if wanted.

Only the template of the route is recorded, because addresses contain names of users.
"""

from __future__ import annotations

import logging
import time
from typing import NamedTuple

from flask import Flask, Response, g, request
from prometheus_client import CollectorRegistry, Counter, Histogram

from app.config import Settings
from app.logs import REQUESTS

log = logging.getLogger(REQUESTS)

UNKNOWN = "unknown"
"""The route of addresses that do not exist, and the method of methods that do not."""
INNER = "compilarium.inner"
"""The variable of a request's environment that marks a request of the server to itself."""
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Seen(NamedTuple):
    """An answered request. `seconds` is the time until the answer began."""

    method: str
    route: str
    status: int
    seconds: float


class RequestMetrics:
    """Counts of the requests of an application."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.requests = Counter(
            "compilarium_requests",
            "Answered requests, by method, template of the route, and status.",
            ["method", "route", "status"],
            registry=registry,
        )
        self.seconds = Histogram(
            "compilarium_request_seconds",
            "Time from the arrival of a request to the beginning of its answer.",
            ["route"],
            registry=registry,
            buckets=_BUCKETS,
        )

    def count(self, seen: Seen) -> None:
        """Count a request."""
        self.requests.labels(seen.method, seen.route, str(seen.status)).inc()
        self.seconds.labels(seen.route).observe(seen.seconds)


def observe(app: Flask, metrics: RequestMetrics) -> None:
    """Observe each request of an application."""
    settings: Settings = app.config["SETTINGS"]

    @app.before_request
    def begin() -> None:
        g.began_s = time.perf_counter()

    @app.after_request
    def end(response: Response) -> Response:
        if INNER in request.environ:
            return response
        seen = _seen(response)
        metrics.count(seen)
        if settings.log_requests:
            facts = {**seen._asdict(), "seconds": round(seen.seconds, 4)}
            log.info("%s %s %d", *seen[:3], extra={"facts": facts})
        return response


def _seen(response: Response) -> Seen:
    now_s = time.perf_counter()
    method = request.method if request.method in _METHODS else UNKNOWN
    route = request.url_rule.rule if request.url_rule is not None else UNKNOWN
    return Seen(method, route, response.status_code, now_s - g.get("began_s", now_s))
