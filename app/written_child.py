"""The child that reads texts of models: a JSON line in, a JSON line out, until nobody listens."""

from __future__ import annotations

import json
import os
import resource
import sys
from typing import Any

from app.wire.written import checked_text
from compiler.errors import CompileError
from compiler.frontend.written import LANGUAGES, PAGE_LIMITS


def serve(memory_bytes: int) -> None:
    """Answer every line of the standard input."""
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # whatever else is printed goes elsewhere
    _limit(memory_bytes)
    out.write(b"ready\n")
    for line in sys.stdin.buffer:
        request = json.loads(line)
        answer = json.dumps(_answer(request["language"], request["text"])).encode() + b"\n"
        view = memoryview(answer)
        while view:
            view = view[out.write(view) or 0 :]


def _answer(language: str, text: str) -> dict[str, Any]:
    try:
        return checked_text(LANGUAGES[language](text, "", PAGE_LIMITS))
    except MemoryError:
        message = "reading the text needed more memory than allowed"
        return checked_text(None, CompileError("E-LIMIT-MEMORY", message))
    except Exception as e:  # a mistake of ours, which the one who writes is told about
        message = f"reading the text failed: {type(e).__name__}: {str(e)[:300]}"
        return checked_text(None, CompileError("E-SERVER-BUG", message))


def _limit(memory_bytes: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = memory_bytes if hard == resource.RLIM_INFINITY else min(memory_bytes, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    serve(int(sys.argv[1]))
