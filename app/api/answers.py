"""Answers as JSON, cached if immutable. app/compression.py compresses them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from flask import Response, current_app, request, send_file

from app.clients import client
from app.compression import Constant
from app.config import Settings
from app.jobs.parts import decompress
from app.jobs.queue import JobQueue
from app.store.links import LinkStore
from app.uploads import UploadStore
from app.usage import Usage
from app.wire.shapes import Payload
from compiler.errors import CompileError

_FOR_EVER = "private, max-age=31536000, immutable"


def settings() -> Settings:
    """Return the settings of this application."""
    return cast(Settings, current_app.config["SETTINGS"])


def queue() -> JobQueue:
    """Return the queue of this application."""
    return cast(JobQueue, current_app.extensions["jobs"])


def uploads() -> UploadStore:
    """Return the store of uploads of this application."""
    return cast(UploadStore, current_app.extensions["uploads"])


def links() -> LinkStore:
    """Return the store of short links of this application."""
    return cast(LinkStore, current_app.extensions["links"])


def count_request(kind: str, amount: int = 1) -> None:
    """Count a rate-limited request of the client. Errors: E-LIMIT-RATE."""
    cast(Usage, current_app.extensions["usage"]).count(kind, client(), amount)


def raw_body() -> bytes:
    """Return the body of the request. Errors: E-REQUEST-SIZE."""
    request.max_content_length = settings().request_limit_bytes
    return request.get_data()


def body() -> Any:
    """Parse the JSON body of the request. Errors: E-REQUEST-BODY, E-REQUEST-SIZE."""
    try:
        return json.loads(raw_body())
    except (ValueError, RecursionError):
        raise CompileError("E-REQUEST-BODY", "the body of the request is not valid JSON") from None


def answer(payload: Payload, status: int = 200, *, final: bool = False) -> Response:
    """Answer with a payload; clients may cache a `final` payload forever, because it never
    changes."""
    return json_answer(payload, status, final=final)


def json_answer(
    payload: Mapping[str, object], status: int = 200, *, final: bool = False
) -> Response:
    """Answer with JSON that is not a declared payload, such as the OpenAPI description."""
    return _response(_json_bytes(payload), status, final, packed=False)


def constant(payload: Payload) -> Constant:
    """Return a payload that never changes while the server runs, for repeated answers."""
    return Constant(_json_bytes(payload), "application/json")


def _json_bytes(payload: Mapping[str, object]) -> bytes:
    text = json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def packed_answer(data: bytes, *, final: bool) -> Response:
    """Answer with a stored part of a result; decompress it for clients that do not accept gzip."""
    if _takes_gzip():
        return _response(data, 200, final, packed=True)
    return _response(decompress(data), 200, final, packed=False)


def file_answer(content: bytes | str, media_type: str, name: str) -> Response:
    """Answer with a file to save under a name."""
    response = Response(content, mimetype=media_type)
    response.headers.set("Content-Disposition", "attachment", filename=name)
    return response


def binary_answer(file: Path, name: str) -> Response:
    """Answer with a binary file to save under a name."""
    media_type = "application/octet-stream"
    return send_file(file.resolve(), mimetype=media_type, as_attachment=True, download_name=name)


def _takes_gzip() -> bool:
    return request.accept_encodings["gzip"] > 0


def _response(data: bytes, status: int, final: bool, *, packed: bool) -> Response:
    response = Response(data, status, mimetype="application/json")
    response.vary.add("Accept-Encoding")
    if packed:
        response.headers["Content-Encoding"] = "gzip"
    if not final:
        response.headers["Cache-Control"] = "no-store"
        return response
    response.headers["Cache-Control"] = _FOR_EVER
    response.set_etag(hashlib.blake2b(data, digest_size=12).hexdigest())
    return cast(Response, response.make_conditional(request))
