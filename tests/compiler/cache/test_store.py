"""Tests of cache entries: attacks on them, interrupted writes, and several writers at once."""

from __future__ import annotations

import logging
import os
import random
import signal
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from compiler.cache import key, notices, store
from compiler.cache.store import GuardedStore
from tests.platforms import needs_root, needs_user_ids

pytestmark = needs_user_ids

NAME = "ab" * 32
OTHER = "cd" * 32
CONTENT = b"machine code" * 10
STRANGER = 54321


@pytest.fixture
def files(tmp_path: Path) -> GuardedStore:
    made = GuardedStore(tmp_path / "cache" / "objects", 1 << 20)
    assert made.write(NAME, CONTENT)
    return made


@pytest.fixture(autouse=True)
def no_earlier_notices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notices, "_said", set())


def path(files: GuardedStore, name: str = NAME) -> Path:
    assert files.directory is not None
    return files.directory / name


@contextmanager
def child(work: Callable[[], object]) -> Generator[int]:
    """A forked process that does some work; it is killed at the end of the block."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(0)
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_an_entry_is_read_back_and_private(files: GuardedStore) -> None:
    assert files.read(NAME) == CONTENT
    assert files.read(OTHER) is None
    assert path(files).stat().st_mode & 0o777 == 0o600
    assert path(files, key.NAME).stat().st_mode & 0o777 == 0o600
    assert files.write(NAME, b"other", b"", b" content")
    assert files.read(NAME) == b"other content"
    assert files.write(OTHER)
    assert files.read(OTHER) == b""


def test_without_a_folder_nothing_is_stored() -> None:
    nothing = GuardedStore(None, 1 << 20)
    assert not nothing.write(NAME, CONTENT)
    assert nothing.read(NAME) is None
    assert nothing.write_bulk(NAME, CONTENT) is None


@pytest.mark.parametrize("at", [0, 5, 30, 84, 85, -1])
def test_a_changed_byte_is_noticed_and_the_entry_removed(files: GuardedStore, at: int) -> None:
    data = bytearray(path(files).read_bytes())
    data[at] ^= 1
    path(files).write_bytes(data)
    assert files.read(NAME) is None
    assert not path(files).exists()


def test_every_truncated_entry_is_ignored(files: GuardedStore) -> None:
    data = path(files).read_bytes()
    for n in range(len(data)):
        path(files).write_bytes(data[:n])
        assert files.read(NAME) is None, f"an entry of {n} bytes was accepted"


def test_an_entry_of_another_name_folder_or_user_is_ignored(
    files: GuardedStore, tmp_path: Path
) -> None:
    programs = GuardedStore(tmp_path / "cache" / "programs", 1 << 20)
    foreign = GuardedStore(tmp_path / "other" / "objects", 1 << 20)
    for each in (programs, foreign):
        assert each.write(OTHER, CONTENT)
    for source in (path(files), path(programs, OTHER), path(foreign, OTHER)):
        path(files, OTHER).write_bytes(source.read_bytes())
        assert files.read(OTHER) is None
    assert files.read(NAME) == CONTENT


def test_an_entry_without_a_keyed_digest_is_ignored(files: GuardedStore) -> None:
    import hashlib

    digest = hashlib.sha256(CONTENT)
    for crafted in (
        CONTENT,
        digest.digest() + CONTENT,
        b"compilarium-cache 1 " + digest.hexdigest().encode() + b"\n" + CONTENT,
        b"compilarium-cache 1 " + bytes(64) + b"\n" + CONTENT,
    ):
        path(files).write_bytes(crafted)
        assert files.read(NAME) is None


@pytest.mark.parametrize("mode", [0o660, 0o606, 0o666])
def test_an_entry_that_others_may_write_is_ignored(files: GuardedStore, mode: int) -> None:
    path(files).chmod(mode)
    assert files.read(NAME) is None
    assert not path(files).exists()


@needs_root
def test_an_entry_of_another_user_is_ignored_and_left(files: GuardedStore) -> None:
    os.chown(path(files), STRANGER, STRANGER)
    assert files.read(NAME) is None
    assert path(files).exists()
    assert files.write(NAME, CONTENT)
    assert files.read(NAME) == CONTENT


@pytest.mark.parametrize("what", ["link", "fifo", "folder", "socket"])
def test_what_is_no_file_is_ignored_without_waiting(
    files: GuardedStore, tmp_path: Path, what: str
) -> None:
    kept = tmp_path / "kept"
    path(files).rename(kept)
    if what == "link":
        path(files).symlink_to(kept)
    elif what == "fifo":
        os.mkfifo(path(files))
    elif what == "folder":
        path(files).mkdir()
    else:
        os.mknod(path(files), 0o140600)
    signal.alarm(20)  # ends the test if opening blocks
    try:
        assert files.read(NAME) is None
        assert files.write(NAME, CONTENT)
        assert files.read(NAME) == CONTENT
    finally:
        signal.alarm(0)
    assert kept.exists(), "the target of a link stays"


def test_a_huge_entry_is_not_read(files: GuardedStore) -> None:
    data = path(files).read_bytes()
    with path(files).open("wb") as f:
        f.write(data)
        f.truncate(1 << 40)
    start = time.monotonic()
    assert files.read(NAME) is None
    assert time.monotonic() - start < 5
    assert not path(files).exists()


@pytest.mark.parametrize("change", ["readable", "short", "long", "gone", "link", "fifo"])
def test_a_key_that_is_not_secret_is_replaced_and_its_entries_are_void(
    files: GuardedStore, tmp_path: Path, change: str, caplog: pytest.LogCaptureFixture
) -> None:
    file = path(files, key.NAME)
    was = file.read_bytes()
    if change == "readable":
        file.chmod(0o640)
    elif change in ("short", "long"):
        file.write_bytes(was[:16] if change == "short" else was * 2)
    else:
        file.unlink()
    if change == "link":
        (tmp_path / "secret").write_bytes(was)
        (tmp_path / "secret").chmod(0o600)
        file.symlink_to(tmp_path / "secret")
    elif change == "fifo":
        os.mkfifo(file)
    assert files.read(NAME) is None
    assert files.write(OTHER, CONTENT)
    assert file.read_bytes() != was
    assert file.stat().st_mode & 0o777 == 0o600
    assert files.read(OTHER) == CONTENT
    assert files.read(NAME) is None, "the key changed"
    assert ("a new key replaces it" in caplog.text) == (change != "gone")


@needs_root
def test_a_key_of_another_user_is_replaced(files: GuardedStore) -> None:
    os.chown(path(files, key.NAME), STRANGER, STRANGER)
    assert files.read(NAME) is None
    assert files.write(NAME, CONTENT)
    assert path(files, key.NAME).stat().st_uid == 0


def test_a_refused_folder_is_named_once_and_not_used(
    files: GuardedStore, caplog: pytest.LogCaptureFixture
) -> None:
    assert files.directory is not None
    files.directory.chmod(0o777)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert files.read(NAME) is None
            assert not files.write(OTHER, CONTENT)
            assert files.write_bulk(OTHER, CONTENT) is None
    (told,) = caplog.messages
    assert f"{files.directory} may be written by other users" in told
    assert f"chmod go-w {files.directory}" in told
    assert path(files).exists()
    assert not path(files, OTHER).exists()
    files.directory.chmod(0o700)
    assert files.read(NAME) == CONTENT


def test_a_full_disk_costs_nothing_but_the_entry(
    files: GuardedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store.os, "fsync", full)
    assert not files.write(OTHER, CONTENT)
    assert not files.write(NAME, b"new")
    assert files.write_bulk(NAME, CONTENT) is None
    assert files.read(NAME) == CONTENT
    assert sorted(os.listdir(path(files).parent)) == [key.NAME, ".trimmed", NAME]


def test_an_unchanged_bulk_needs_no_digest(
    files: GuardedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    seal = files.write_bulk(NAME, CONTENT)
    assert seal is not None
    memory = memoryview(bytearray(len(CONTENT)))
    monkeypatch.setattr(store, "_keyed", lambda *_: pytest.fail("the bulk was hashed"))
    assert files.read_bulk(NAME, seal, memory)
    assert memory == CONTENT
    assert not files.read_bulk(NAME, seal, memoryview(bytearray(3)))


@pytest.mark.parametrize("change", ["rewritten", "byte", "short", "link", "others", "copied"])
def test_a_changed_bulk_is_hashed(files: GuardedStore, tmp_path: Path, change: str) -> None:
    seal = files.write_bulk(NAME, CONTENT)
    assert seal is not None
    file = path(files, f"{NAME}.bulk")
    facts = file.stat()
    time.sleep(0.02)  # the clock of the file system ticks every few milliseconds
    if change in ("rewritten", "byte"):
        with file.open("r+b") as f:
            f.write(CONTENT[:-1] + (b"!" if change == "byte" else CONTENT[-1:]))
    elif change == "short":
        os.truncate(file, 5)
    elif change == "link":
        file.rename(tmp_path / "moved")
        file.symlink_to(tmp_path / "moved")
    elif change == "others":
        file.chmod(0o666)
    else:
        file.rename(tmp_path / "moved")
        file.write_bytes(CONTENT)
    if not file.is_symlink():
        os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    is_equal = change in ("rewritten", "copied")
    assert files.read_bulk(NAME, seal, memoryview(bytearray(len(CONTENT)))) == is_equal
    assert file.exists() == is_equal


def test_the_least_recently_used_entries_are_removed_first(files: GuardedStore) -> None:
    names = [f"{i:064x}" for i in range(4)]
    for i, name in enumerate(names):
        assert files.write(name, bytes(1000))
        assert files.write_bulk(name, bytes(1000))
        for file in (path(files, name), path(files, f"{name}.bulk")):
            os.utime(file, (i + 1, i + 1))
    files.touch(names[0])
    files.limit_bytes = 4500
    files.trim()
    assert [n for n in names if files.read(n) is not None] == [names[0], names[3]]
    assert files.read(NAME) == CONTENT


def test_only_files_of_the_cache_are_removed(files: GuardedStore) -> None:
    mine = path(files, "thesis.txt")
    mine.write_bytes(bytes(100))
    path(files, "photos").mkdir()
    old, fresh = path(files, ".new-old"), path(files, ".new-fresh")
    for file in (old, fresh):
        file.write_bytes(b"")
    os.utime(old, (1, 1))
    path(files, OTHER).mkdir()  # an earlier version kept programs in folders
    files.limit_bytes = 0
    files.trim()
    left = sorted(os.listdir(mine.parent))
    assert left == [key.NAME, ".new-fresh", ".trimmed", "photos", "thesis.txt"]


@pytest.mark.parametrize(("age_s", "is_due"), [(10, False), (1e4, True), (-1e4, True)])
def test_stores_of_a_folder_trim_it_rarely(
    files: GuardedStore, monkeypatch: pytest.MonkeyPatch, age_s: float, is_due: bool
) -> None:
    """Each process has its own store, and a check of the size looks at every entry."""
    trimmed: list[GuardedStore] = []
    monkeypatch.setattr(GuardedStore, "trim", lambda store: trimmed.append(store))
    last_s = time.time() - age_s
    os.utime(path(files, ".trimmed"), (last_s, last_s))
    again = GuardedStore(files.directory, files.limit_bytes)
    for number in range(70):
        assert again.write(f"{number:064x}", CONTENT)
    assert trimmed == [again] * is_due


def test_a_store_that_writes_much_keeps_to_its_limit(tmp_path: Path) -> None:
    store = GuardedStore(tmp_path / "objects", 100_000)
    for number in range(200):
        assert store.write(f"{number:064x}", bytes(2000))
    for number in range(20):
        assert store.write_bulk(f"{number:064x}", bytes(9000))
        assert store.write(f"{number:064x}", bytes(2000))
    assert sum(store.sizes()) < 100_000 * (1 + 1 / 16)


def test_writers_and_readers_at_once_see_whole_entries(tmp_path: Path) -> None:
    """Several processes create the key and replace one entry, while this process reads it."""
    directory = tmp_path / "cache" / "objects"
    contents = [bytes([i]) * (50_000 + i) for i in range(4)]

    def write(content: bytes) -> None:
        own = GuardedStore(directory, 1 << 20)
        for _ in range(1000):
            own.write(NAME, content)

    with child(lambda: write(contents[0])), child(lambda: write(contents[1])):
        with child(lambda: write(contents[2])), child(lambda: write(contents[3])):
            files = GuardedStore(directory, 1 << 20)
            seen = set()
            end = time.monotonic() + 60
            while len(seen) < 2 and time.monotonic() < end:
                found = files.read(NAME)
                if found is not None:
                    assert found in contents
                    seen.add(found[0])
    assert len(seen) >= 2
    assert files.read(NAME) in contents


def test_processes_agree_on_one_key(tmp_path: Path) -> None:
    for turn in range(10):
        directory = tmp_path / f"{turn}" / "objects"
        pids = []
        for i in range(4):
            pid = os.fork()
            if pid == 0:
                try:
                    GuardedStore(directory, 1 << 20).write(f"{i:064x}", CONTENT)
                finally:
                    os._exit(0)
            pids.append(pid)
        for pid in pids:
            os.waitpid(pid, 0)
        files = GuardedStore(directory, 1 << 20)
        assert [files.read(f"{i:064x}") for i in range(4)] == [CONTENT] * 4


def test_a_kill_during_a_write_leaves_the_old_entry_or_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "cache" / "objects"
    draw = random.Random(7)
    sizes = (0, 1000, 300_000)
    names = [f"{i:064x}" for i in range(3)]
    known: dict[str, bool] = dict.fromkeys(names, False)

    def write() -> None:
        own = GuardedStore(directory, 1 << 30)
        for turn in range(10**6):
            for name, size in zip(names, sizes, strict=True):
                own.write(name, f"{turn:8}".encode(), bytes(size))
                own.write_bulk(name, bytes(size))

    for _ in range(120):
        with child(write):
            time.sleep(draw.random() * 0.12)
        files = GuardedStore(directory, 1 << 30)
        for name, size in zip(names, sizes, strict=True):
            found = files.read(name)
            assert found is not None or not known[name], "a stored entry was lost"
            if found is not None:
                known[name] = True
                assert found[8:] == bytes(size)
    assert all(known.values())
    monkeypatch.setattr(store, "UNFINISHED_SECONDS", 0.0)
    GuardedStore(directory, 1 << 30).trim()
    assert not [p for p in directory.iterdir() if p.name.startswith(".new-")]
