"""Entries of a cache folder: files with a keyed digest, checked before anything reads them.

An entry is a line with the keyed digest, then the content. The digest covers the folder's kind, the
entry's name and the content, so an entry is not valid under another name. Large data can be in a
separate file, the *bulk* of an entry; the entry contains a `Seal` of this file.

Entries are written to a temporary file and renamed, so concurrent processes and interrupted writes
leave either the old entry or the new one. An entry with a wrong digest is removed.
"""

from __future__ import annotations

import hmac
import os
import re
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from io import FileIO
from pathlib import Path

from compiler.cache.key import KEY_BYTES, known_key, made_key
from compiler.cache.notices import say_refused
from compiler.cache.trust import NotPrivate, make_folder, open_private, require
from compiler.dataclass import dataclass

Bytes = bytes | bytearray | memoryview

_MAGIC = b"compilarium-cache 1 "
_HEADER_BYTES = len(_MAGIC) + 64 + 1
_NEW = ".new-"
_BULK = ".bulk"
_TRIMMED = ".trimmed"
"""A file whose modification time is the time of the last size check."""
_CHUNK_BYTES = 1 << 24
_DIGEST = re.compile(r"([0-9a-f]{64})(\.bulk)?")
"""The names of files that `trim` may remove: digests; other files may be the user's own."""

UNFINISHED_SECONDS = 3600.0
"""Age in seconds at which the temporary file of an interrupted write is removed."""

TRIM_SECONDS = 300.0
"""Time in seconds between two checks of a folder's size, by any process."""

TRIM_SHARE = 1 / 32
"""Fraction of the limit that a store may write between two of its size checks. A check examines
every entry, and a folder may have 100,000 entries."""


@dataclass(frozen=True, slots=True)
class Seal:
    """The digest of a bulk file, and the facts that the system changes with every write to it.

    If size, inode and time of change (`changed_ns`, which no user can set) are unchanged since the
    write, the content is unchanged. Reading then needs no digest: hashing 100 MB takes longer than
    starting a program. A copied or restored file has other facts, so its digest is checked.
    """

    digest: str
    n_bytes: int
    inode: int
    modified_ns: int
    changed_ns: int

    def is_of(self, facts: os.stat_result) -> bool:
        """Return whether a file has not changed since it was sealed."""
        now = (facts.st_size, facts.st_ino, facts.st_mtime_ns, facts.st_ctime_ns)
        return now == (self.n_bytes, self.inode, self.modified_ns, self.changed_ns)


class GuardedStore:
    """The entries in one folder of the user; without a folder, nothing is cached.

    If another user could write the folder, the store is empty, ignores writes, and warns once.
    Units: bytes.
    """

    def __init__(self, directory: Path | None, limit_bytes: int) -> None:
        self.directory = directory
        self.limit_bytes = limit_bytes
        self._untrimmed_bytes = 0

    def read(self, name: str) -> bytes | None:
        """Return the content of an entry; None if it is missing, damaged, or not of this user."""
        found = self._checked()
        if found is None:
            return None
        directory, key = found
        data = self._load(directory / name)
        if data is None:
            return None
        content = memoryview(data)[_HEADER_BYTES:]
        if not hmac.compare_digest(data[:_HEADER_BYTES], _header(key, directory, name, [content])):
            _discard(directory / name)
            return None
        return bytes(content)

    def write(self, name: str, *pieces: Bytes, is_durable: bool = True) -> bool:
        """Write an entry whose content is these pieces in order; return whether it was stored.

        An entry that is not durable may be lost if the machine stops, but its writer need not wait
        for the disk.
        """
        assert os.path.basename(name).lstrip(".") == name, f"{name!r} is not a name"
        try:
            directory, key = self._made()
            content = [_header(key, directory, name, pieces), *pieces]
            facts = _replace(directory / name, content, is_durable=is_durable)
            self._trim_if_due(directory, facts.st_size)
        except NotPrivate as e:
            return self._refused(e)
        except OSError:  # a full or read-only disk
            return False
        return True

    def touch(self, name: str) -> None:
        """Mark an entry as used now; `trim` removes the least recently used entries first."""
        if self.directory is not None:
            try:
                os.utime(self.directory / name, follow_symlinks=False)
            except (OSError, NotImplementedError):
                return

    def write_bulk(self, name: str, data: Bytes) -> Seal | None:
        """Write the bulk of an entry and return its seal; None if it was not stored."""
        try:
            directory, key = self._made()
            facts = _replace(directory / (name + _BULK), [data], is_durable=True)
            digest = _keyed(key, directory, name + _BULK, [data])
            self._untrimmed_bytes += facts.st_size  # the entry of the bulk is written next
        except NotPrivate as e:
            self._refused(e)
            return None
        except OSError:
            return None
        return Seal(digest, facts.st_size, facts.st_ino, facts.st_mtime_ns, facts.st_ctime_ns)

    def read_bulk(self, name: str, seal: Seal, memory: memoryview) -> bool:
        """Read the bulk of an entry into memory; return False unless it is the sealed content."""
        found = self._checked()
        if found is None or memory.nbytes != seal.n_bytes:
            return False
        directory, key = found
        file = directory / (name + _BULK)
        try:
            with os.fdopen(open_private(file), "rb", buffering=0) as f:
                before = os.fstat(f.fileno())
                if before.st_size == seal.n_bytes and _fill(f, memory):
                    if seal.is_of(before) and seal.is_of(os.fstat(f.fileno())):
                        return True
                    if hmac.compare_digest(
                        _keyed(key, directory, file.name, [memory]), seal.digest
                    ):
                        return True
        except FileNotFoundError:
            return False
        except OSError:
            pass
        _discard(file)
        return False

    def sizes(self) -> list[int]:
        """Return the sizes of all entries, with their bulk."""
        return [size for _, size, _ in self._entries()]

    def trim(self) -> None:
        """Remove the least recently used entries that are named by a digest, down to the limit.

        Also removes old temporary files, and the folders of earlier versions.
        """
        if self._checked() is None or self.directory is None:
            return
        for path in _unfinished(self.directory):
            _discard(path)
        total = 0
        for _, size, paths in sorted(self._entries(), reverse=True):
            total += size
            if total > self.limit_bytes:
                for path in paths:
                    _discard(path)

    def _trim_if_due(self, directory: Path, n_bytes: int) -> None:
        """Trim if this store has written much, or if no process has trimmed for `TRIM_SECONDS`."""
        self._untrimmed_bytes += n_bytes
        has_written_much = self._untrimmed_bytes > self.limit_bytes * TRIM_SHARE
        if has_written_much or _is_stale(directory / _TRIMMED):
            self._untrimmed_bytes = 0
            with suppress(OSError, NotPrivate):  # the entry itself is stored
                os.close(open_private(directory / _TRIMMED, os.O_WRONLY | os.O_CREAT))
                os.utime(directory / _TRIMMED, follow_symlinks=False)
            self.trim()

    def _checked(self) -> tuple[Path, bytes] | None:
        """Return the folder and its key, for reading; None if there is nothing to read."""
        if self.directory is None:
            return None
        try:
            require(self.directory)
        except NotPrivate as e:
            self._refused(e)
            return None
        except OSError:
            return None
        key = known_key(self.directory)
        return None if key is None else (self.directory, key)

    def _made(self) -> tuple[Path, bytes]:
        """Return the folder and its key, both created if necessary. Errors: OSError, NotPrivate."""
        if self.directory is None:
            raise FileNotFoundError("caching is disabled")
        make_folder(self.directory)
        key = made_key(self.directory)
        if key is None:
            raise PermissionError(f"no key can be stored in {self.directory}")
        return self.directory, key

    def _refused(self, error: NotPrivate) -> bool:
        assert self.directory is not None, "only a folder is refused"
        say_refused(self.directory, error.refusal)
        return False

    def _load(self, path: Path) -> bytearray | None:
        """Read a file of plausible size and header; remove any other file."""
        try:
            with os.fdopen(open_private(path), "rb", buffering=0) as f:
                size = os.fstat(f.fileno()).st_size
                is_plausible = _HEADER_BYTES <= size <= self.limit_bytes + _HEADER_BYTES
                if is_plausible and f.read(len(_MAGIC)) == _MAGIC:
                    f.seek(0)
                    data = bytearray(size)
                    if _fill(f, memoryview(data)):
                        return data
        except FileNotFoundError:
            return None
        except (OSError, MemoryError):
            pass
        _discard(path)
        return None

    def _entries(self) -> Iterator[tuple[float, int, list[Path]]]:
        """Yield for each entry the time of its last use, its size, and its files."""
        if self.directory is None or not self.directory.is_dir():
            return
        groups: dict[str, list[os.DirEntry[str]]] = {}
        with os.scandir(self.directory) as found:
            for entry in found:
                named = _DIGEST.fullmatch(entry.name)
                if named is not None:
                    groups.setdefault(named[1], []).append(entry)
        for group in groups.values():
            try:
                facts = [entry.stat(follow_symlinks=False) for entry in group]
            except FileNotFoundError:  # removed by another process
                continue
            size = sum(f.st_size for f in facts)
            yield max(f.st_mtime for f in facts), size, [Path(entry.path) for entry in group]


def _keyed(key: bytes, directory: Path, name: str, pieces: Sequence[Bytes]) -> str:
    """Return the HMAC-SHA256 of an entry's kind, name and content, in hexadecimal."""
    assert len(key) == KEY_BYTES, f"a key has {len(key)} bytes"
    digest = hmac.new(key, f"{directory.name}\0{name}\0".encode(), "sha256")
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


def _header(key: bytes, directory: Path, name: str, pieces: Sequence[Bytes]) -> bytes:
    return _MAGIC + _keyed(key, directory, name, pieces).encode() + b"\n"


def _replace(path: Path, pieces: Sequence[Bytes], *, is_durable: bool) -> os.stat_result:
    """Write a file atomically; return its facts. Errors: OSError."""
    new = path.with_name(f"{_NEW}{os.urandom(8).hex()}")
    handle = open_private(new, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    try:
        try:
            for piece in pieces:
                _write_all(handle, memoryview(piece))
            if is_durable:
                os.fsync(handle)
            os.replace(new, path)
            return os.fstat(handle)
        finally:
            os.close(handle)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def _write_all(handle: int, data: memoryview) -> None:
    while data:
        data = data[os.write(handle, data[:_CHUNK_BYTES]) :]


def _fill(file: FileIO, memory: memoryview) -> bool:
    """Read a file into memory; return whether the file fills the memory exactly."""
    while memory:
        n = file.readinto(memory[:_CHUNK_BYTES])
        if not n:
            return False
        memory = memory[n:]
    return not file.read(1)


def _unfinished(directory: Path) -> Iterator[Path]:
    """Yield temporary files of interrupted writes, and folders of earlier versions."""
    before = time.time() - UNFINISHED_SECONDS
    with os.scandir(directory) as found:
        for entry in found:
            is_new = entry.name.startswith(_NEW)
            if is_new and entry.stat(follow_symlinks=False).st_mtime < before:
                yield Path(entry.path)
            elif _DIGEST.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                yield Path(entry.path)


def _is_stale(stamp: Path) -> bool:
    """Return whether a file is missing or was not touched for `TRIM_SECONDS`."""
    try:
        age_s = time.time() - os.lstat(stamp).st_mtime
    except FileNotFoundError:
        return True
    return not 0 <= age_s < TRIM_SECONDS


def _discard(path: Path) -> None:
    """Remove a file or folder, if it belongs to this user."""
    try:
        facts = os.lstat(path)
        if hasattr(os, "geteuid") and facts.st_uid != os.geteuid():
            return
        if stat.S_ISDIR(facts.st_mode):
            import shutil  # imported only here, since a start of a cached program needs no shutil

            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)
    except OSError:
        return
