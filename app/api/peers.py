"""Comparisons of a compilation with other runtimes."""

from __future__ import annotations

from flask import Response

from app.api.answers import answer, body
from app.api.kept import Kept
from app.api.queued import queued_after
from app.api.table import Table
from app.jobs.peer import PeerRequest
from app.wire import peers as wire
from app.wire.shapes.peers import PeerComparison, Peers

ROUTES = Table()
_OF_JOB = "/jobs/<job_id>/peer"


@ROUTES.route("GET", "/peers", Peers)
def known_peers() -> Response:
    """Return the runtimes with which programs can be compared, and how to install them."""
    return answer(wire.known())


@ROUTES.starts(_OF_JOB, PeerRequest)
def new_peer_comparison(job_id: str) -> Response:
    """Start a job that times a compiled model and another runtime together."""
    compiled = Kept(job_id)
    wanted = PeerRequest.from_json(compiled.job.id, body())
    compiled.require("profile", "run to compare")
    return queued_after(compiled, wanted, again=True)


@ROUTES.route("GET", _OF_JOB, PeerComparison, fails=(404, 409))
def peer_comparison(job_id: str) -> Response:
    """Return the times of a program and of another runtime."""
    return Kept(job_id).packed("peer")
