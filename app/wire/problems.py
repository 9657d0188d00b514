"""Failures as payloads."""

from __future__ import annotations

from typing import cast

from app.wire import VERSION
from app.wire.shapes.facts import Failure, Problem
from compiler.errors import CompileError


def problem(error: CompileError) -> Problem:
    """What was needed and found, where, and what to do about it."""
    return cast(Problem, error.to_json())


def failure(error: CompileError, trace_id: str = "") -> Failure:
    """The one shape of an error answer; a bug has the id under which the log tells more."""
    found = problem(error)
    if trace_id:
        found["trace_id"] = trace_id
    return {"version": VERSION, "ok": False, "error": found}
