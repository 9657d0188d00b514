"""Test that the example of docs/checking.md prints the output in the page."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

from compiler.passes import PASSES, RULES

PAGE = Path(__file__).resolve().parents[3] / "docs" / "checking.md"


def test_the_example_prints_what_the_page_says() -> None:
    text = PAGE.read_text(encoding="utf-8")
    (block,) = re.findall(r"(?ms)^```python\n(.*?)^```", text)
    (expected,) = re.findall(r"(?ms)^```text\n(.*?)^```", text)
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            # The decorator reads annotations, so the block needs a persistent namespace.
            exec(compile(block, str(PAGE), "exec"), {"__name__": "compiler.passes.of_a_document"})
    finally:
        RULES.pop("subtract_once", None)
        PASSES.pop("subtractions", None)
    assert printed.getvalue() == expected
