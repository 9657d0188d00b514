"""The manifest of a backup: its files with their sizes and digests."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

from app.data.files import is_stored_name
from compiler.errors import CompileError

MANIFEST = "manifest.json"
FORMAT = 1
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Stored:
    """The size of a file in bytes, and the SHA-256 digest of its content."""

    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of a backup: `files` by their paths in the data folder.

    `revision` is the version of the tables in the database; "" without a database.
    """

    program: str
    created: str
    revision: str
    files: Mapping[str, Stored]

    @property
    def n_bytes(self) -> int:
        """The total size of all files in bytes."""
        return sum(each.bytes for each in self.files.values())

    def text(self) -> str:
        """Return the manifest as JSON."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1, sort_keys=True) + "\n"

    @staticmethod
    def read(backup: Path) -> Manifest:
        """Read the manifest of a backup.

        Errors: E-DATA-DAMAGED if it is missing or wrong; E-DATA-NEWER.
        """
        try:
            facts = json.loads((backup / MANIFEST).read_text(encoding="utf-8"))
            if facts["format"] > FORMAT:
                message = f"{backup} is a backup of format {facts['format']}, which is unknown"
                raise CompileError("E-DATA-NEWER", message)
            return _manifest(facts)
        except FileNotFoundError:
            message = f"{backup} is not a backup: it has no {MANIFEST}"
            raise CompileError("E-DATA-DAMAGED", message) from None
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as e:
            message = f"the manifest of {backup} cannot be read"
            raise CompileError("E-DATA-DAMAGED", message, notes=[str(e)[:200]]) from None


def _manifest(facts: Mapping[str, Any]) -> Manifest:
    program, created, revision = (facts[name] for name in ("program", "created", "revision"))
    files = {name: Stored(**each) for name, each in facts["files"].items()}
    for name, each in files.items():
        if not is_stored_name(name):
            raise ValueError(f"{name[:80]!r} is not the path of a stored file")
        if type(each.bytes) is not int or type(each.sha256) is not str:
            raise ValueError(f"the size or the digest of {name[:80]} is wrong")
    if not all(isinstance(each, str) for each in (program, created, revision)):
        raise ValueError("a fact is not a text")
    return Manifest(program, created, revision, files)


def digest(path: Path) -> Stored:
    """Return the size and the digest of a regular file. Errors: OSError."""
    with _opened(path) as file:
        return _read(file, None)


def copy(source: Path, target: Path) -> Stored:
    """Copy a regular file with its times into a new file, and return its size and digest.

    Errors: OSError.
    """
    with _opened(source) as file:
        times = os.fstat(file.fileno())
        handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as made:
            stored = _read(file, made)
    os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))
    return stored


def _opened(path: Path) -> BinaryIO:
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    handle = os.open(path, flags)
    return os.fdopen(handle, "rb")


def _read(file: BinaryIO, made: BinaryIO | None) -> Stored:
    sha256, n_bytes = hashlib.sha256(), 0
    while chunk := file.read(_CHUNK_BYTES):
        sha256.update(chunk)
        n_bytes += len(chunk)
        if made is not None:
            made.write(chunk)
    return Stored(n_bytes, sha256.hexdigest())
