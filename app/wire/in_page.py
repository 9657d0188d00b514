"""Judging in the worker of a page: the payloads of the server as texts, without a server."""

from __future__ import annotations

import json
import re

from app.wire import lessons
from compiler.ir.types import DType
from course.judging import judge_in_process

_FOREIGN = [t.label for t in DType if t.is_storage or t is DType.bf16]
"""The element types whose arithmetic is machine code of ml_dtypes, which no page has."""
_NEEDS_SERVER = re.compile(rf"(?<![\w.])(?:{'|'.join(_FOREIGN)})(?!\w)")


def judge_text(text: str, seconds: float) -> str:
    """Judge the answer of a request; request and answer are JSON, as those of the server's job.

    For an exercise that needs the server, the result is `{"server": reason}`.
    """
    reason = why_on_the_server(text)
    if reason:
        return json.dumps({"server": reason})
    return json.dumps(lessons.judgement(judge_in_process(json.loads(text), seconds)))


def why_on_the_server(text: str) -> str:
    """Return the reason why a page cannot judge the answer of a request, or ""."""
    found = _NEEDS_SERVER.search(text)
    return f"the page has no arithmetic of {found[0]}" if found else ""
