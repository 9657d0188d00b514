"""Short links to a state of the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flask import Response

import compiler
from app.api.answers import answer, body, count_request, links, queue, uploads
from app.api.table import Table
from app.samples import find_sample
from app.store.links import Shared
from app.wire.requests import JobRequest
from app.wire.shapes.shared_links import LinkRequest, SharedLink
from app.wire.shared_links import SharedPlace, link_payload, shared_place
from compiler.errors import CompileError

ROUTES = Table()


@ROUTES.route(
    "POST",
    "/links",
    SharedLink,
    status=201,
    body=LinkRequest,
    fails=(400, 404, 413, 507),
    creates="links",
)
def new_link() -> Response:
    """Create a permanent short link to a state of the page, and keep the linked models forever."""
    place = shared_place(body())
    other = _request_of(place.other) if place.other else None
    shared = Shared(place.text, other, compiler.__version__)
    wanted = [_model_of(place), *([other["model"]] if other else [])]
    for each in wanted:
        if "sample" in each:
            find_sample(each["sample"])
    # Check capacity first: a refused link must pin no models, and an existing link needs no space.
    if links().require_room(shared):
        count_request("link bytes", shared.n_bytes)
    uploads().pin(*(each["upload"] for each in wanted if "upload" in each))
    link = links().keep(shared)
    response = answer(link_payload(link, compiler.__version__), 201)
    response.headers["Location"] = f"/s/{link.id}"
    return response


@ROUTES.route("GET", "/links/<link_id>", SharedLink, fails=(404,))
def link(link_id: str) -> Response:
    """Return the state behind a short link."""
    return answer(link_payload(links().find(link_id), compiler.__version__))


def _request_of(job_id: str) -> Mapping[str, Any]:
    """Return a compared job's request; the link stores the request, as the job may be evicted.

    Errors: E-REQUEST-UNKNOWN.
    """
    asked = queue().find(job_id).request
    if asked.get("kind") != "compile":
        raise CompileError("E-REQUEST-BODY", "only compiled models can be compared")
    return JobRequest.from_json(dict(asked)).to_json()


def _model_of(place: SharedPlace) -> Mapping[str, str]:
    """Return the source and name of a linked page's model; empty if the link contains the model's
    text.

    Errors: E-REQUEST-BODY.
    """
    source, _, model = place.model.partition(":")
    if place.model == "written" and place.has_text:
        return {}
    if source not in ("sample", "upload"):
        raise CompileError("E-REQUEST-BODY", f"there is no model named {place.model!r:.80}")
    return {source: model}
