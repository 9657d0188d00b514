"""Judging in the worker of a page: the protocol as texts, and exercises that need the server."""

from __future__ import annotations

import json
import re

from compiler.ir.types import DType
from course.judging.judge import judge_in_process

_FOREIGN = [t.label for t in DType if t.is_storage or t is DType.bf16]
"""The element types whose arithmetic is machine code of ml_dtypes, which no page has."""
_NEEDS_SERVER = re.compile(rf"(?<![\w.])(?:{'|'.join(_FOREIGN)})(?!\w)")


def judge_text(text: str, seconds: float) -> str:
    """Judge the answer of a request, as `judge_in_process` does; request and answer are JSON.

    For an exercise that needs the server, the result is `{"server": reason}`.
    """
    reason = why_on_the_server(text)
    if reason:
        return json.dumps({"server": reason})
    return json.dumps(judge_in_process(json.loads(text), seconds))


def why_on_the_server(text: str) -> str:
    """Return the reason why a page cannot judge the answer of a request, or ""."""
    found = _NEEDS_SERVER.search(text)
    return f"the page has no arithmetic of {found[0]}" if found else ""
