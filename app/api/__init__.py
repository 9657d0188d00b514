"""The HTTP API under /api/v1: Flask's routes and the OpenAPI description derive from one table."""

from __future__ import annotations

from flask import Blueprint, Flask

from app.api import (
    beside,
    bisect,
    comparisons,
    exports,
    facts,
    files,
    jobs,
    kernels,
    learn,
    links,
    numerics,
    openapi,
    peers,
    placements,
    profiles,
    reports,
    results,
    runs,
    schedules,
    stages,
    targets,
    tuning,
    written,
)
from app.api.once import creating
from app.api.table import PREFIX, Route

ROUTES: tuple[Route, ...] = (
    *facts.ROUTES,
    *files.ROUTES,
    *jobs.ROUTES,
    *results.ROUTES,
    *stages.ROUTES,
    *kernels.ROUTES,
    *placements.ROUTES,
    *numerics.ROUTES,
    *links.ROUTES,
    *beside.ROUTES,
    *bisect.ROUTES,
    *reports.ROUTES,
    *profiles.ROUTES,
    *comparisons.ROUTES,
    *peers.ROUTES,
    *targets.ROUTES,
    *written.ROUTES,
    *schedules.ROUTES,
    *tuning.ROUTES,
    *exports.ROUTES,
    *runs.ROUTES,
    *learn.ROUTES,
    *openapi.ROUTES,
)


def register(app: Flask) -> None:
    """Add every route of the table."""
    bp = Blueprint("api", __name__, url_prefix=PREFIX)
    for r in ROUTES:
        bp.add_url_rule(r.path, r.name, creating(r), methods=[r.method])
    app.register_blueprint(bp)
    openapi.describe(app, ROUTES)
