"""Tests that matrix tiles are used only if the system grants them to this process."""

from __future__ import annotations

from collections.abc import Iterator

import llvmlite.binding as llvm
import pytest

from compilarium.doctor import examine
from compiler.targets import permission, target


@pytest.fixture(autouse=True)
def asked_anew() -> Iterator[None]:
    """Query the machine again, before and after the test."""
    target.host.cache_clear()
    yield
    target.host.cache_clear()


@pytest.mark.parametrize("given", [True, False])
def test_tiles_that_the_system_refuses_are_not_used(
    given: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = dict(llvm.get_host_cpu_features())
    found.update({"amx-tile": True, "amx-bf16": True, "amx-int8": True, "sse2": True})
    monkeypatch.setattr(llvm, "get_host_cpu_features", lambda: found)
    monkeypatch.setattr(target, "may_use_tiles", lambda: given)
    made = target.host()
    assert made.has_bf16_tiles is made.has_int8_tiles is given
    assert "+sse2" in made.features
    assert ("+amx-tile" in made.features) is given


def test_nothing_is_asked_where_there_are_no_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {**llvm.get_host_cpu_features(), "amx-tile": False, "amx-bf16": False}
    monkeypatch.setattr(llvm, "get_host_cpu_features", lambda: found)
    monkeypatch.setattr(target, "may_use_tiles", lambda: pytest.fail("asked"))
    assert not target.host().has_bf16_tiles


def test_other_systems_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    assert permission.may_use_tiles() is False
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert permission.may_use_tiles() is False


def test_the_answer_of_the_system_is_a_plain_yes_or_no() -> None:
    assert permission.may_use_tiles() in (True, False)


@pytest.mark.parametrize("given", [True, False])
def test_the_doctor_tells_whether_they_are_ours(
    given: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {**llvm.get_host_cpu_features(), "amx-tile": True, "amx-bf16": True}
    monkeypatch.setattr(llvm, "get_host_cpu_features", lambda: found)
    monkeypatch.setattr(target, "may_use_tiles", lambda: given)
    told = {f.topic: f for f in examine()}["matrix tiles"]
    assert (told.state, bool(told.fix)) == (("ok", False) if given else ("missing", True))
