"""Payloads of failures: the problem details of RFC 9457."""

from __future__ import annotations

from typing import cast

from app.wire import VERSION
from app.wire.shapes.facts import Failure, Problem
from compiler.errors import CODES, CompileError

MEDIA_TYPE = "application/problem+json"
CODE_PAGE = "/errors/"
"""The pages about error codes are below this path. The addresses are stable: they are the values of
`type` in problem details."""


def problem(error: CompileError) -> Problem:
    """Return the payload of an error: its code, message, position, notes and hint."""
    return cast(Problem, error.to_json())


def failure(error: CompileError, status: int, trace_id: str = "") -> Failure:
    """Return an error answer; for a bug, `trace_id` identifies the details in the server's log."""
    found = problem(error)
    if trace_id:
        found["trace_id"] = trace_id
    return {
        "version": VERSION,
        "type": CODE_PAGE + error.code,
        "title": CODES[error.code].meaning,
        "status": status,
        "detail": error.message,
        "ok": False,
        "error": found,
    }
