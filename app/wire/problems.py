"""Payloads of failures."""

from __future__ import annotations

from typing import cast

from app.wire import VERSION
from app.wire.shapes.facts import Failure, Problem
from compiler.errors import CompileError


def problem(error: CompileError) -> Problem:
    """Return the payload of an error: its code, message, position, notes and hint."""
    return cast(Problem, error.to_json())


def failure(error: CompileError, trace_id: str = "") -> Failure:
    """Return an error answer; for a bug, `trace_id` identifies the details in the server's log."""
    found = problem(error)
    if trace_id:
        found["trace_id"] = trace_id
    return {"version": VERSION, "ok": False, "error": found}
