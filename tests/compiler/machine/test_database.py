"""Tests of the schedule database: round trips, and damaged files."""

import os
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

import compiler
from compiler.errors import CompileError
from compiler.machine.database import (
    Database,
    Entry,
    Tuned,
    computation_key,
    default_path,
    machine_key,
    tuned_schedules,
)
from compiler.targets.options import CodeOptions
from compiler.targets.target import by_name
from tests.platforms import needs_root, needs_user_ids

ENTRY = Entry("abc", "matmul", "Y: split(i, 4, io, ii)\n", 1e-6, 2e-6, 17, "budget", "random", 3)
HERE = machine_key(CodeOptions())


def test_an_entry_comes_back_and_takes_the_place_of_an_older_one(tmp_path: Path) -> None:
    database = Database(tmp_path / "deep" / "schedules.sqlite")
    assert database.entries("m") == {}
    database.put("m", ENTRY)
    database.put("other", replace(ENTRY, schedule=""))
    database.put("m", replace(ENTRY, n_tried=20))
    assert database.entries("m") == {"abc": replace(ENTRY, n_tried=20)}
    assert database.entries("none") == {}


@pytest.mark.parametrize("content", [b"", b"no database at all, but long enough " * 40])
def test_damage_is_told_with_a_hint(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "schedules.sqlite"
    path.write_bytes(content)
    if not content:  # an empty file is an empty database
        assert Database(path).entries("m") == {}
        return
    for use in (lambda d: d.entries("m"), lambda d: d.put("m", ENTRY)):
        with pytest.raises(CompileError) as caught:
            use(Database(path))
        assert caught.value.code == "E-TUNE-DATABASE"
        assert "--database" in caught.value.hint


def test_a_database_of_another_format_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "schedules.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("pragma user_version = 99")
    with pytest.raises(CompileError) as caught:
        Database(path).entries("m")
    assert "99" in caught.value.message


def test_reading_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "schedules.sqlite"
    Database(path).put("m", ENTRY)
    before = path.read_bytes(), path.stat().st_mtime_ns
    assert Database(path).entries("m") == {"abc": ENTRY}
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CompileError) as caught:
        Database(tmp_path / "file" / "schedules.sqlite").put("m", ENTRY)
    assert caught.value.code == "E-TUNE-DATABASE"


def test_the_users_own_database_is_used_when_there_is_something_for_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPILARIUM_CACHE", str(tmp_path))
    path = default_path()
    assert path is not None
    assert tuned_schedules(None, CodeOptions()) is None
    Database(path).put("another machine", ENTRY)
    Database(path).put(HERE, replace(ENTRY, computation="kept as it is", schedule=""))
    assert tuned_schedules(None, CodeOptions()) is None
    Database(path).put(HERE, ENTRY)
    found = tuned_schedules(None, CodeOptions())
    assert found is not None
    assert found.schedules == {"abc": ENTRY.schedule}
    assert tuned_schedules(None, CodeOptions(by_name("x86-64-v3"))) is None
    path.write_bytes(b"damaged" * 100)
    assert tuned_schedules(None, CodeOptions()) is None
    with pytest.raises(CompileError):
        tuned_schedules(path, CodeOptions())


def test_nothing_is_kept_where_there_is_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPILARIUM_CACHE", "")
    assert default_path() is None
    assert tuned_schedules(None, CodeOptions()) is None


@needs_user_ids
@pytest.mark.parametrize(
    "attack", ["folder", "file", "link", "fifo", pytest.param("stranger", marks=needs_root)]
)
def test_the_users_own_database_is_not_read_if_others_could_write_it(
    attack: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPILARIUM_CACHE", str(tmp_path))
    path = default_path()
    assert path is not None
    Database(path).put(HERE, ENTRY)
    assert path.stat().st_mode & 0o777 == 0o600
    assert tuned_schedules(None, CodeOptions()) is not None
    if attack == "folder":
        path.parent.chmod(0o777)
    elif attack == "file":
        path.chmod(0o622)
    elif attack == "stranger":
        os.chown(path, 54321, 54321)
    else:
        path.rename(tmp_path / "moved.sqlite")
        path.symlink_to(tmp_path / "moved.sqlite") if attack == "link" else os.mkfifo(path)
    assert tuned_schedules(None, CodeOptions()) is None
    with pytest.raises(CompileError, match="E-TUNE-DATABASE"):
        Database(path).put(HERE, ENTRY)


def test_threads_and_machine_tell_keys_apart() -> None:
    assert machine_key(CodeOptions(threads=2)) != HERE
    assert machine_key(CodeOptions(by_name("aarch64"))) != HERE


SUM = compiler.parse(
    "graph g(x: f32[6,40], w: f32[40,70]) {\n  y: f32[6,70] = matmul(x, w)\n  return y\n}"
)


def test_a_program_uses_a_schedule_and_says_so() -> None:
    plain = compiler.compile(SUM, tuned=False)
    (kernel,) = plain.kernels
    assert kernel.computation is not None
    key = computation_key(kernel.computation, frozenset())
    text = "Y: split(m, 2, mo, mi)\nY: unroll(mi)\n"
    tuned = Tuned("here", {key: text})
    program = compiler.compile(SUM, tuned=tuned)
    assert "".join(f"{m}\n" for m in program.kernels[0].moves) == text
    assert program.notes == ("1 kernel runs a schedule tuned on this machine (here)",)
    assert plain.notes == ()


def test_a_schedule_that_does_not_fit_counts_as_none() -> None:
    plain = compiler.compile(SUM, tuned=False)
    (kernel,) = plain.kernels
    assert kernel.computation is not None
    key = computation_key(kernel.computation, frozenset())
    tuned = Tuned("here", {key: "Y: split(nowhere, 2)\n"})
    assert compiler.compile(SUM, tuned=tuned).kernels[0].moves == kernel.moves
