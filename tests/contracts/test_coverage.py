"""Tests of all cases of all suites of onnx: none is wrong, and docs/coverage.md is up to date."""

from __future__ import annotations

import os
from pathlib import Path

import onnx
import pytest

from compiler.conformance.cases import SUITES, collect
from compiler.conformance.outcome import FAILED
from compiler.conformance.pool import run_cases
from compiler.conformance.report import page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "coverage.md"
COMMAND = "compilarium conformance --output docs/coverage.md"


@pytest.mark.slow
def test_nothing_is_wrong_or_crashes_and_the_page_tells_what_falls_back() -> None:
    cases = [case for suite in SUITES for case in collect(suite)]
    outcomes = list(run_cases(cases, os.cpu_count() or 1))
    failed = [f"{o.suite} {o.name}: {o.kind}: {o.why}" for o in outcomes if o.kind in FAILED]
    assert not failed, "\n".join(failed)
    same = page(outcomes, onnx.__version__, COMMAND) == PAGE.read_text(encoding="utf-8")
    assert same, f"update the page: {COMMAND}"
