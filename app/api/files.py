"""Routes that store uploaded files and describe them."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress

from flask import Response, request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import ClientDisconnected

from app.api.answers import answer, queue, uploads
from app.api.once import once
from app.api.table import Query, Table
from app.uploads import Upload, UploadStore
from app.wire import VERSION
from app.wire.shapes import facts as shapes
from compiler.errors import CompileError

ROUTES = Table()
_MULTIPART_FRAME_BYTES = 64 * 1024


@ROUTES.route(
    "POST",
    "/uploads",
    shapes.Upload,
    status=201,
    body="application/octet-stream",
    query=[Query("name", "the name of the file, for display", str)],
    fails=(400, 408, 413, 503, 507),
    creates="uploads",
)
def upload() -> ResponseReturnValue:
    """Store a file for later jobs."""
    queue().runner.isolation.require_for_strangers()
    store = uploads()
    if request.headers.get("Content-Encoding", "identity") != "identity":
        raise CompileError("E-REQUEST-BODY", "compressed uploads are not accepted")
    with _deadline(store.limit_s):
        kept = _save_form(store) if request.mimetype == "multipart/form-data" else _save_body(store)
    return once(f"{kept.id} {kept.name}".encode(), lambda: answer(_payload(kept), 201))


def _save_form(store: UploadStore) -> Upload:
    request.max_content_length = store.limit_bytes + _MULTIPART_FRAME_BYTES
    announced = request.content_length
    if announced is not None and announced > request.max_content_length:
        raise store.too_large(announced)
    file = request.files.get("model")
    if file is None:
        raise CompileError("E-REQUEST-BODY", "the field `model` needs exactly one file")
    return store.save(file.stream, file.filename or "")


def _save_body(store: UploadStore) -> Upload:
    request.max_content_length = sys.maxsize  # the store enforces its own limit
    return store.save(request.stream, request.args.get("name", ""), request.content_length)


@contextmanager
def _deadline(seconds: float) -> Generator[None]:
    """Limit the total time to read a request's body, as a protection against slow clients.

    Errors: E-LIMIT-SECONDS.
    """
    connection: socket.socket | None = request.environ.get("gunicorn.socket")
    if connection is None:  # another server, with its own limits
        yield
        return
    late = threading.Event()

    def close() -> None:
        late.set()
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RD)

    timer = threading.Timer(seconds, close)
    timer.daemon = True
    timer.start()
    try:
        yield
    except ClientDisconnected:
        if late.is_set():
            raise CompileError(
                "E-LIMIT-SECONDS", f"the upload took longer than {seconds:g} s"
            ) from None
        raise
    finally:
        timer.cancel()


@ROUTES.route("GET", "/uploads/<upload_id>", shapes.Upload, fails=(404,))
def upload_facts(upload_id: str) -> Response:
    """Return the facts about an upload."""
    return answer(_payload(uploads().find(upload_id)))


def _payload(upload: Upload) -> shapes.Upload:
    return {"version": VERSION, "id": upload.id, "name": upload.name, "bytes": upload.bytes}
