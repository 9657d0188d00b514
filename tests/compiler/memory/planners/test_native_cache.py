"""Tests of the disk cache of compiled searches: numba unpickles only what this user has written."""

from __future__ import annotations

import importlib.util
import pickle
from pathlib import Path
from typing import Any

import pytest
from numba import njit

from compiler.cache.store import GuardedStore
from compiler.memory.planners import native_cache
from compiler.memory.planners.native_cache import keep_on_disk
from tests.platforms import needs_user_ids

SOURCE = "def doubled(x):\n    return 2 * x\n"


class Attack:
    """An object whose unpickling creates a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.path,))


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COMPILARIUM_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "package" / "searches.py"
    file.parent.mkdir()
    file.write_text(SOURCE)
    return file


def loaded(source: Path) -> Any:
    """Return the compiled function of a freshly imported module."""
    spec = importlib.util.spec_from_file_location("searches", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function: Any = njit(module.doubled)
    keep_on_disk(function)
    assert function(4) == 8
    return function


def hits(function: Any) -> int:
    return sum(function.stats.cache_hits.values())


def cached(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "cache").rglob("[0-9a-f]*"))


def test_machine_code_is_next_to_the_source(source: Path, tmp_path: Path) -> None:
    assert hits(loaded(source)) == 0
    assert list((source.parent / "__pycache__").glob("*.nbc"))
    assert hits(loaded(source)) == 1
    assert cached(tmp_path) == []


@needs_user_ids
def test_nothing_is_unpickled_from_a_folder_that_others_may_write(
    source: Path, tmp_path: Path
) -> None:
    loaded(source)
    for file in (source.parent / "__pycache__").glob("*.nb?"):
        file.write_bytes(pickle.dumps(Attack(tmp_path / "attacked")))
    (source.parent / "__pycache__").chmod(0o777)
    assert hits(loaded(source)) == 0
    assert not (tmp_path / "attacked").exists()
    assert len(cached(tmp_path)) == 1
    assert hits(loaded(source)) == 1


def test_a_pickle_without_the_keyed_digest_is_not_read(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native_cache, "_is_usable", lambda made: False)
    loaded(source)
    (entry,) = cached(tmp_path)
    attack = pickle.dumps(Attack(tmp_path / "attacked"))
    foreign = GuardedStore(tmp_path / "attacker" / "searches", 1 << 20)
    assert foreign.write(entry.name, attack)
    assert foreign.directory is not None
    for crafted in (attack, (foreign.directory / entry.name).read_bytes()):
        entry.write_bytes(crafted)
        assert hits(loaded(source)) == 0
    assert not (tmp_path / "attacked").exists()
    assert hits(loaded(source)) == 1


def test_another_source_is_compiled_again(
    source: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(native_cache, "_is_usable", lambda made: False)
    loaded(source)
    source.write_text(SOURCE.replace("2 * x", "x + x"))
    assert hits(loaded(source)) == 0
    assert len(cached(tmp_path)) == 2


def test_without_any_folder_nothing_is_stored(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native_cache, "_is_usable", lambda made: False)
    monkeypatch.setenv("COMPILARIUM_CACHE", "")
    assert hits(loaded(source)) == hits(loaded(source)) == 0
