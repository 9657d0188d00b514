"""The child process that checks texts: it answers each JSON line with a JSON line.

The process is in a sandbox before it reads the first line. See app/written.py for its other end.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from app.wire.schedules import checked_schedule
from app.wire.shapes.schedules import CheckedSchedule
from app.wire.shapes.written import CheckedText
from app.wire.written import checked_text
from compiler.compute.text import parse_computation
from compiler.errors import CompileError
from compiler.frontend.written import LANGUAGES, PAGE_LIMITS
from compiler.passes.pipeline.precision import precision_mode
from compiler.schedule.language.draft import Draft, draft
from compiler.targets.options import CodeOptions
from compiler.targets.target import by_name


def read_texts() -> None:
    """Answer every request, a line of the standard input."""
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # redirect other output
    out.write(b"ready\n")
    for line in sys.stdin.buffer:
        request = json.loads(line)
        answer = json.dumps(_answer(request)).encode() + b"\n"
        view = memoryview(answer)
        while view:
            view = view[out.write(view) or 0 :]


def _answer(request: dict[str, Any]) -> CheckedSchedule | CheckedText:
    try:
        if request["language"] == "schedule":
            return checked_schedule(_draft(request))
        return checked_text(LANGUAGES[request["language"]](request["text"], "", PAGE_LIMITS))
    except MemoryError:
        message = "checking the text needed more memory than allowed"
        return _failed(request, CompileError("E-LIMIT-MEMORY", message))
    except Exception as e:  # a bug of ours, reported to the user
        message = f"checking the text failed: {type(e).__name__}: {str(e)[:300]}"
        return _failed(request, CompileError("E-SERVER-BUG", message))


def _failed(request: dict[str, Any], problem: CompileError) -> CheckedSchedule | CheckedText:
    if request["language"] == "schedule":
        return checked_schedule(Draft((problem,), 0, (), ()))
    return checked_text(None, problem)


def _draft(request: dict[str, Any]) -> Draft:
    """Read a schedule for the computation in the request."""
    of = request["computation"]
    in_parts = precision_mode(request["precision"]).in_parts
    options = CodeOptions(by_name(request["target"]), in_parts=in_parts)
    computation = parse_computation(of["text"])
    return draft(request["text"], computation, frozenset(of["constants"]), options)
