"""Requests that create something: rate limits, and answers that repeat for an Idempotency-Key.

A client that has received no answer sends its request again with the same key. It then receives the
answer to the first request instead of a second job or link.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from flask import Response, current_app, make_response, request
from flask.typing import ResponseReturnValue

from app.api.answers import count_request, raw_body
from app.api.table import Handler, Route
from app.clients import client
from app.store.answers import Answer, AnswerStore
from compiler.errors import CompileError

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
"""This header marks the answer to an earlier request."""
_KEY = re.compile(r"[\x21-\x7e]{1,255}")


def creating(route: Route) -> Handler:
    """Return the handler of a route; if the route creates something, count and answer it once.

    Handlers of streamed bodies call `once` themselves, when they know the content.
    """
    if not route.creates:
        return route.handler

    @wraps(route.handler)
    def handle(**parameters: Any) -> ResponseReturnValue:
        def create() -> ResponseReturnValue:
            count_request(route.creates)
            return route.handler(**parameters)

        return create() if route.is_streamed else once(raw_body(), create)

    return handle


def once(content: bytes, create: Callable[[], ResponseReturnValue]) -> ResponseReturnValue:
    """Answer a request, or repeat the stored answer if its key was sent with the same content.

    Only answers of success are stored. Errors: E-REQUEST-KEY, E-REQUEST-BUSY.
    """
    if HEADER not in request.headers:
        return create()
    key = f"{client().key} {_key()}"
    answers = cast(AnswerStore, current_app.extensions["answers"])
    known = answers.begin(key, _fingerprint(content))
    if known is not None:
        return _repeated(known)
    try:
        response = make_response(create())
    except BaseException:
        answers.forget(key)
        raise
    location = response.headers.get("Location", "")
    answers.finish(key, Answer(response.status_code, location, response.get_data(as_text=True)))
    return response


def _key() -> str:
    """Return the key, which may be quoted. Errors: E-REQUEST-KEY."""
    key = request.headers[HEADER]
    if not _KEY.fullmatch(key):
        message = f"the header {HEADER} needs 1 to 255 visible ASCII characters"
        raise CompileError("E-REQUEST-KEY", message)
    return key[1:-1] if len(key) > 2 and key[0] == key[-1] == '"' else key


def _fingerprint(content: bytes) -> str:
    digest = hashlib.sha256(content).hexdigest()
    return f"{request.method} {request.full_path} {digest}"


def _repeated(known: Answer) -> Response:
    response = Response(known.content, known.status, mimetype="application/json")
    response.headers["Cache-Control"] = "no-store"
    response.headers[REPLAYED] = "true"
    if known.location:
        response.headers["Location"] = known.location
    return response
