"""Test that the example of docs/equality-saturation.md gives the stated results."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[4] / "docs" / "equality-saturation.md"


def test_the_example_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"(?ms)^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"))
    exec(compile(block, str(PAGE), "exec"), {"__name__": "of_a_document"})
    printed = capsys.readouterr().out
    assert "instead of" in printed
    assert "mul_distributes_back" in printed
    assert re.search(r"= \*add\((p, r|r, p)\)|\| \*add\((p, r|r, p)\)", printed)
