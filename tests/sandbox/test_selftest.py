"""Tests of the self-test: all assertions hold here, and a missing layer is seen."""

from __future__ import annotations

import dataclasses
import json
import mmap
from pathlib import Path

import pytest

from sandbox import launch, probes, seal, selftest
from sandbox.limits import Limits
from sandbox.probes import PROBES
from sandbox.selftest import CHECKS, examine

ALLOW_ALL = bytes.fromhex("06000000" + "0000ff7f")
"""A filter that allows every call."""


def failed(report: selftest.Report) -> set[tuple[str, str]]:
    return {(finding.way, finding.name) for finding in report.findings if not finding.ok}


def test_all_assertions_hold_on_this_machine() -> None:
    report = examine()
    assert not report.obstacle
    assert failed(report) == set()
    assert report.ok
    ways = {finding.way for finding in report.findings}
    assert ways == {"fresh", "joined", "outside"}
    names = {finding.name for finding in report.findings}
    assert names == set(PROBES) | {check.__name__.strip("_") for check in CHECKS}


def test_every_assertion_has_words_and_a_remedy() -> None:
    for probe in PROBES.values():
        assert probe.claim.endswith(".")
        assert probe.fix


def test_the_report_is_data() -> None:
    data = json.loads(json.dumps(examine().to_json()))
    assert [finding for finding in data["findings"] if not finding["ok"]] == []
    assert data["ok"] is True
    assert {layer["name"] for layer in data["layers"]} == {"landlock", "cgroup"}
    assert all(finding["ok"] and finding["claim"] for finding in data["findings"])


def test_a_missing_filter_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "filter_program", lambda: ALLOW_ALL)
    report = examine()
    assert not report.ok
    assert {("fresh", "no_network"), ("fresh", "no_kernel_interfaces")} <= failed(report)
    assert all(finding.fix for finding in report.findings if not finding.ok)


def test_missing_limits_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Limits, "resource_limits", lambda self: {})
    monkeypatch.setattr(launch, "_parents", lambda: None)
    names = {name for _, name in failed(examine())}
    assert {"memory_is_bounded", "files_are_bounded", "processes_are_bounded"} <= names


def test_a_leaking_environment_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seal, "replace_environment", lambda environment: None)
    assert ("joined", "own_environment") in failed(examine())


def test_a_finding_without_an_answer_is_a_failure() -> None:
    found = list(selftest._inside("fresh", ["user"], b"", b"Killed"))
    assert [f.found for f in found] == ["the process ended before: Killed"]
    assert dataclasses.asdict(found[0])["name"] == "user"


def test_only_mounts_may_be_visible_in_folders_of_the_system(tmp_path: Path) -> None:
    for name in ("user/venv/bin", "user/private", "other"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "user" / "venv" / "bin" / "python").touch()
    mounts = {f"{tmp_path}/user/venv", "/usr"}
    seen = set(probes._outside_mounts(str(tmp_path), mounts))
    assert seen == {f"{tmp_path}/user/private", f"{tmp_path}/other"}
    assert list(probes._outside_mounts(f"{tmp_path}/absent", mounts)) == []
    assert list(probes._outside_mounts(str(tmp_path), {"/usr"})) == [str(tmp_path)]


def test_a_caller_with_much_memory_has_the_same_result() -> None:
    """A joined child inherits the address space of its parent, which does not count as its own."""
    large = mmap.mmap(-1, 2 * selftest.LIMITS.memory_bytes)
    with large:
        assert failed(examine()) == set()
