"""Uploads."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from flask import Response, request

from app.api.answers import answer, uploads
from app.api.table import Query, Table
from app.uploads import Upload
from app.wire import VERSION, shapes
from compiler.errors import CompileError

ROUTES = Table()
_MULTIPART_FRAME_BYTES = 64 * 1024


@ROUTES.route(
    "POST",
    "/uploads",
    shapes.Upload,
    status=201,
    body="application/octet-stream",
    query=[Query("name", "what the file is called, for people to read", str)],
    fails=(400, 408, 413, 507),
)
def upload() -> Response:
    """Keep a file; a job reads it later."""
    store = uploads()
    if request.headers.get("Content-Encoding", "identity") != "identity":
        raise CompileError("E-REQUEST-BODY", "compressed uploads are not taken")
    if request.mimetype == "multipart/form-data":
        request.max_content_length = store.limit_bytes + _MULTIPART_FRAME_BYTES
        announced = request.content_length
        if announced is not None and announced > request.max_content_length:
            raise store.too_large(announced)
        file = request.files.get("model")
        if file is None:
            raise CompileError("E-REQUEST-BODY", "needed one file in the field `model`")
        kept = store.save(file.stream, file.filename or "")
    else:
        request.max_content_length = None
        kept = store.save(request.stream, request.args.get("name", ""), request.content_length)
    return answer(_payload(kept), 201)


@ROUTES.route("GET", "/uploads/<upload_id>", shapes.Upload, fails=(404,))
def upload_facts(upload_id: str) -> Response:
    """What is known of an upload."""
    return answer(_payload(uploads().find(upload_id)))


def _payload(upload: Upload) -> dict[str, Any]:
    return {"version": VERSION, **asdict(upload)}
