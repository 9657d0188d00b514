"""Tests of the command `compilarium conformance`."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import onnx
import pytest
from click.testing import CliRunner, Result

from compilarium import conformance
from compilarium.group import commands
from compiler.conformance.cases import Case
from compiler.conformance.outcome import KINDS, Outcome


def invoke(*args: object) -> Result:
    return CliRunner().invoke(commands, ["conformance", *map(str, args)])


def test_a_filtered_run_is_told_as_json_and_written_as_a_page(tmp_path: Path) -> None:
    target = tmp_path / "page.md"
    options = ("--suite", "simple", "--suite", "pytorch-operator", "--filter", "test_s?g*")
    result = invoke(*options, "--jobs", 1, "--output", target, "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["ok"] is True
    assert told["onnx"] == onnx.__version__
    cases = {c["name"]: c for c in told["cases"]}
    assert list(cases) == ["test_sign_model"]
    sign = cases["test_sign_model"]
    assert (sign["suite"], sign["outcome"], sign["operators"]) == ("simple", "native", ["Sign"])
    assert told["totals"]["simple"] == told["totals"]["all"]
    assert told["totals"]["all"]["native"] == 1
    text = target.read_text(encoding="utf-8")
    assert text.startswith("# Coverage of ONNX")
    assert "--filter 'test_s?g*'" in text
    assert "`Sign` (1)" in text


def test_a_table_for_people_has_totals_and_fallbacks() -> None:
    result = invoke("--suite", "simple", "--filter", "sequence_model1", "--jobs", 1)
    assert result.exit_code == 0, result.output
    assert re.search(r"simple +1 +0 +0 +1 +0 +0 +0", result.stdout)
    assert "onnx.SequenceEmpty" in result.stdout
    assert "passed" in result.stdout


@pytest.mark.parametrize(("kind", "code"), [(k, int(k in ("wrong", "crashed"))) for k in KINDS])
def test_only_wrong_and_crashed_cases_fail(
    kind: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def judged(cases: Sequence[Case], jobs: int, **rest: Any) -> Iterator[Outcome]:
        return (Outcome(c.suite, c.name, c.operators, kind, why="said why") for c in cases)

    monkeypatch.setattr(conformance, "run_cases", judged)
    result = invoke("--suite", "simple", "--filter", "test_sign_model")
    assert result.exit_code == code
    assert ("FAILED" in result.stdout) == bool(code)
    assert ("said why" in result.stdout) == (kind in ("refused", "wrong", "crashed"))


def test_a_filter_that_no_case_fits_is_refused() -> None:
    result = invoke("--suite", "light", "--filter", "sequence")
    assert result.exit_code == 1
    assert "E-OPTION-VALUE" in result.stderr
    assert "'sequence'" in result.stderr
