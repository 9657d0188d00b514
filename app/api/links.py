"""Short links to a state of the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flask import Response, current_app, request

import compiler
from app.api.answers import answer, body, links, queue, uploads
from app.api.table import Table
from app.samples import find_sample
from app.store.links import Shared
from app.wire import shapes
from app.wire.requests import JobRequest
from app.wire.shared_links import link_payload, shared_place
from compiler.errors import CompileError

ROUTES = Table()


@ROUTES.route(
    "POST",
    "/links",
    shapes.Link,
    status=201,
    body=shapes.LinkRequest,
    fails=(400, 404, 413, 429, 507),
)
def new_link() -> Response:
    """A permanent short link to a state of the page; the models that it needs are kept for ever."""
    current_app.extensions["link_rate"].count(request.remote_addr or "")
    place = shared_place(body())
    other = _request_of(place.other) if place.other else None
    source, _, model = place.model.partition(":")
    if source not in ("sample", "upload"):
        raise CompileError("E-REQUEST-BODY", f"no model is called {place.model!r:.80}")
    for each in ({source: model}, *([other["model"]] if other else [])):
        _keep_model(each)
    link = links().keep(Shared(place.text, other, compiler.__version__))
    response = answer(link_payload(link, compiler.__version__), 201)
    response.headers["Location"] = f"/s/{link.id}"
    return response


@ROUTES.route("GET", "/links/<link_id>", shapes.Link, fails=(404,))
def link(link_id: str) -> Response:
    """What a short link stands for."""
    return answer(link_payload(links().find(link_id), compiler.__version__))


def _request_of(job_id: str) -> Mapping[str, Any]:
    """What a compared job was asked for: a link outlives the job. Errors: E-REQUEST-UNKNOWN."""
    asked = queue().find(job_id).request
    if asked.get("kind") != "compile":
        raise CompileError("E-REQUEST-BODY", "only compiled models can be compared")
    return JobRequest.from_json(dict(asked)).to_json()


def _keep_model(model: Mapping[str, str]) -> None:
    """Let a model be there as long as the link. Errors: E-REQUEST-UNKNOWN, E-LINK-FULL."""
    if "sample" in model:
        find_sample(model["sample"])
    else:
        uploads().pin(model["upload"])
