"""Error answers: this module alone produces the JSON that answers failed requests."""

from __future__ import annotations

import errno
import logging
import math
import secrets

from flask import Flask, Response, json, request
from werkzeug.exceptions import (
    ClientDisconnected,
    HTTPException,
    MethodNotAllowed,
    NotFound,
    RequestEntityTooLarge,
    SecurityError,
)

from app.disk import full_disk
from app.rate import TooMany
from app.store.dialects import is_away
from app.wire.problems import MEDIA_TYPE, failure
from app.wire.shapes.facts import ErrorCode
from compiler.errors import CODES, CompileError

log = logging.getLogger("compilarium.web")

# Errors with other codes are faults of the user's model or request, and have the status 400.
STATUS = {
    "E-REQUEST-ORIGIN": 403,
    "E-REQUEST-ACCESS": 403,
    "E-REQUEST-UNKNOWN": 404,
    "E-REQUEST-METHOD": 405,
    "E-LIMIT-SECONDS": 408,
    "E-REQUEST-BUSY": 409,
    "E-RESULT-ABSENT": 409,
    "E-REQUEST-SIZE": 413,
    "E-UPLOAD-SIZE": 413,
    "E-REQUEST-KEY": 422,
    "E-LIMIT-RATE": 429,
    "E-DATA-NEWER": 500,
    "E-SERVER-BUG": 500,
    "E-LIMIT-QUEUE": 503,
    "E-SANDBOX-ABSENT": 503,
    "E-MACHINE-ABSENT": 503,
    "E-SERVER-STORAGE": 503,
    "E-LINK-FULL": 507,
    "E-UPLOAD-DISK": 507,
}

_RETRY_AFTER_S = {"E-REQUEST-BUSY": 1, "E-LIMIT-QUEUE": 5, "E-SERVER-STORAGE": 5}


def register(app: Flask) -> None:
    """Register handlers for user errors, HTTP errors and bugs."""
    app.register_error_handler(CompileError, _compile_error)
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(Exception, _bug)


def status_of(code: str) -> int:
    """Return the HTTP status of an error code."""
    return STATUS.get(code, 400)


def _compile_error(error: CompileError) -> Response:
    return _answer(error, status_of(error.code))


def _http_error(error: HTTPException) -> Response:
    if isinstance(error, RequestEntityTooLarge):
        return _compile_error(
            CompileError("E-REQUEST-SIZE", "the body of the request is too large")
        )
    if isinstance(error, NotFound):
        return _compile_error(CompileError("E-REQUEST-UNKNOWN", "this URL does not exist"))
    if isinstance(error, MethodNotAllowed):
        allowed = ", ".join(sorted(error.valid_methods or ()))
        return _compile_error(
            CompileError("E-REQUEST-METHOD", f"methods that this URL accepts: {allowed or 'none'}")
        )
    if isinstance(error, SecurityError):
        return _compile_error(
            CompileError("E-REQUEST-ORIGIN", "the request names another host than this server")
        )
    if isinstance(error, ClientDisconnected):
        return _answer(CompileError("E-REQUEST-BODY", "the body of the request ended early"), 400)
    status = error.code or 500
    code = "E-SERVER-BUG" if status >= 500 else "E-REQUEST-BODY"
    return _answer(CompileError(code, str(error.description or error.name)), status)


def _bug(error: Exception) -> Response:
    if known := full_disk(error) or _away(error):
        # The text of the error may contain what the user stored.
        log.warning("%s: %s", known.message, type(error).__name__)
        return _compile_error(known)
    trace_id = secrets.token_hex(8)
    log.error("bug %s", trace_id, exc_info=error)
    message = f"internal error of the server; its log has the details under {trace_id}"
    return _answer(CompileError("E-SERVER-BUG", message), 500, trace_id=trace_id)


def _away(error: Exception) -> CompileError | None:
    """Return the error for users if the database or the data folder cannot be used now."""
    if is_away(error):
        return CompileError("E-SERVER-STORAGE", "the database does not answer")
    if isinstance(error, OSError) and error.errno in _AWAY:
        return CompileError("E-SERVER-STORAGE", "the data folder cannot be used")
    return None


_AWAY = (errno.EACCES, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EROFS)


def _answer(error: CompileError, status: int, trace_id: str = "") -> Response:
    content = json.dumps(failure(error, status, trace_id))
    response = Response(content, status, mimetype=MEDIA_TYPE)
    response.headers["Cache-Control"] = "no-store"
    if status >= 500 and not trace_id:  # a bug is in the log already
        log.warning("%s %s: %d %s", request.method, request.url_rule, status, error.code)
    if retry_after_s := _retry_after_s(error):
        response.headers["Retry-After"] = str(retry_after_s)
    return response


def _retry_after_s(error: CompileError) -> int:
    """Return the time in seconds after which a request may succeed; 0 if it will not."""
    if isinstance(error, TooMany):
        return max(1, math.ceil(error.retry_after_s))
    return _RETRY_AFTER_S.get(error.code, 0)


def codes() -> list[ErrorCode]:
    """Return all error codes with their meanings and default hints."""
    return [{"code": k, "meaning": c.meaning, "hint": c.hint} for k, c in CODES.items()]
