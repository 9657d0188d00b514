"""Blobs in an object store, or in another file system that fsspec knows, such as S3.

This machine has copies of blobs in a folder of the same layout. A copy is made only of a content
that does not change any more: an upload, or a result of a job that has ended.
"""

from __future__ import annotations

import errno
import os
import shutil
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from app.store.blobs.folder import partial_name
from app.store.blobs.interface import Blob, Blobs
from compiler.errors import CompileError

OBJECT_STORES = frozenset({"s3", "s3a", "gs", "gcs", "az", "abfs", "adl", "oss", "memory"})
"""Protocols whose puts are atomic. With other protocols, a file is first written under a temporary
name."""
_USED = ".used"
"""The time of the empty blob KEY.used is the last use of the blob KEY, which is never rewritten."""
_PARTIAL = ".partial"
_TOGETHER_BYTES = 8_000_000
"""Smaller files are stored concurrently, since each request to a distant store takes
milliseconds."""
_TOUCH_S = 600.0
"""A further use of the same blob within this time in seconds is not noted."""


def is_remote(url: str) -> bool:
    """Return whether a setting names a store of fsspec, and not a folder.

    >>> is_remote("s3://bucket/prefix"), is_remote("/mnt/shared"), is_remote("")
    (True, False, False)
    """
    return "://" in url


def public_url(url: str) -> str:
    """Return a URL without names of users and passwords.

    >>> public_url("sftp://ann:secret@host/data"), public_url("s3://bucket/a@b")
    ('sftp://***@host/data', 's3://bucket/a@b')
    """
    protocol, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    user, at, name = host.rpartition("@")
    return f"{protocol}://{'***' if user else ''}{at}{name}{slash}{path}"


class RemoteBlobs(Blobs):
    """The blobs below a URL; `copies` is the folder of copies on this machine."""

    is_folder = False

    def __init__(self, url: str, copies: Path) -> None:
        self.url, self.copies = url, copies
        self._lock = threading.Lock()
        self._opened: tuple[int, Any, str] | None = None
        self._touched: dict[str, float] = {}

    def require(self) -> None:
        """Check that the packages of the store are installed. Errors: E-OPTION-VALUE."""
        try:
            from fsspec import get_filesystem_class

            get_filesystem_class(self._protocol)
        except (ImportError, ValueError) as e:
            raise _unknown(self.url, e) from None

    # This machine.

    def path(self, key: str) -> Path:
        """Return the place of a copy."""
        return self.copies / key

    def file(self, key: str) -> Path:
        """Return the copy of a blob; copy it if necessary."""
        path = self.copies / key
        if path.is_file():
            with suppress(OSError):
                os.utime(path)  # the least recently used copies are removed
        else:
            self.fetch(key, path)
        return path

    def fetch(self, key: str, path: Path) -> None:
        """Copy a blob to a file."""
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        partial = partial_name(path)
        try:
            with self._errors() as (system, root):
                system.get_file(f"{root}/{key}", str(partial))
            os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)

    def staging(self, prefix: str) -> Path:
        """Return the folder of copies."""
        folder = self.copies / prefix
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return folder

    # The store.

    def get(self, key: str) -> bytes:
        """Return the content of a blob."""
        with self._errors() as (system, root):
            return system.cat_file(f"{root}/{key}")

    def put(self, key: str, content: bytes) -> None:
        """Store a blob."""
        with self._errors() as (system, root):
            self._put(system, f"{root}/{key}", content)

    def put_file(self, key: str, file: Path) -> None:
        """Store the content of a file; the file becomes the copy on this machine."""
        self.put_copies({key: file})
        os.replace(file, self.copies / key)

    def put_copies(self, keys: Mapping[str, Path]) -> None:
        """Store copies of files, small files concurrently."""
        small, n_bytes = dict[str, bytes](), 0
        with self._errors() as (system, root):
            for key, file in keys.items():
                if file.stat().st_size > _TOGETHER_BYTES:
                    with self._place(system, f"{root}/{key}") as place:
                        system.put_file(str(file), place)
                    continue
                small[f"{root}/{key}"] = content = file.read_bytes()
                n_bytes += len(content)
                if n_bytes > _TOGETHER_BYTES:
                    self._put_all(system, small)
                    small, n_bytes = {}, 0
            self._put_all(system, small)

    def _put_all(self, system: Any, contents: Mapping[str, bytes]) -> None:
        if getattr(system, "async_impl", False) and contents:
            system.pipe(dict(contents))  # concurrently
            return
        for path, content in contents.items():
            self._put(system, path, content)

    def _put(self, system: Any, path: str, content: bytes) -> None:
        with self._place(system, path) as place:
            system.pipe_file(place, content)

    @contextmanager
    def _place(self, system: Any, path: str) -> Generator[str]:
        """Yield the path to write to, so that the file appears complete after the block."""
        if self._protocol in OBJECT_STORES:
            yield path
            return
        folder, _, name = path.rpartition("/")
        system.makedirs(folder, exist_ok=True)
        partial = f"{folder}/{partial_name(Path(name)).name}"
        yield partial
        system.mv(partial, path)

    def exists(self, key: str) -> bool:
        """Return whether there is a blob."""
        with self._errors() as (system, root):
            return bool(system.isfile(f"{root}/{key}"))

    def find(self, key: str) -> Blob:
        """Return the facts about a blob; its use is noted in another blob."""
        with self._errors() as (system, root):
            facts = system.info(f"{root}/{key}")
            try:
                used_s = _changed_s(system.info(f"{root}/{key}{_USED}"))
            except FileNotFoundError:
                used_s = 0
        return Blob(key, _size(facts), max(used_s, _changed_s(facts)))

    def below(self, prefix: str) -> Iterator[Blob]:
        """Yield the blobs below a prefix, with the later of the times of change and use."""
        with self._errors() as (system, root):
            found: Mapping[str, Any] = system.find(f"{root}/{prefix}", detail=True)
        start = len(root) + 1
        facts = {path[start:]: each for path, each in found.items()}
        for key, each in facts.items():
            if not key.endswith((_USED, _PARTIAL)):
                used = facts.get(key + _USED)
                used_s = max(_changed_s(each), _changed_s(used) if used else 0)
                yield Blob(key, _size(each), used_s)

    def children(self, prefix: str) -> set[str]:
        """Return the names directly below a prefix."""
        with suppress(FileNotFoundError), self._errors() as (system, root):
            names = (each.rstrip("/") for each in system.ls(f"{root}/{prefix}", detail=False))
            return {name.rpartition("/")[2] for name in names if name != f"{root}/{prefix}"}
        return set()

    def delete(self, keys: Iterable[str]) -> None:
        """Remove blobs, and their copies on this machine."""
        with self._errors() as (system, root):
            for key in keys:
                (self.copies / key).unlink(missing_ok=True)
                for path in (f"{root}/{key}", f"{root}/{key}{_USED}"):
                    with suppress(FileNotFoundError):
                        system.rm_file(path)

    def delete_below(self, prefix: str) -> None:
        """Remove all blobs below a prefix, and their copies on this machine."""
        shutil.rmtree(self.copies / prefix, ignore_errors=True)
        with suppress(FileNotFoundError), self._errors() as (system, root):
            system.rm(f"{root}/{prefix}", recursive=True)

    def touch(self, key: str) -> None:
        """Note the use of a blob, unless this process has noted a recent use."""
        now_s = time.monotonic()
        if now_s - self._touched.get(key, -_TOUCH_S) < _TOUCH_S:
            return
        if not self.exists(key):
            raise FileNotFoundError(errno.ENOENT, "there is no such blob", key)
        self.put(key + _USED, b"")
        with self._lock:
            self._touched = {k: t for k, t in self._touched.items() if now_s - t < _TOUCH_S}
            self._touched[key] = now_s

    def mark(self, key: str) -> None:
        """Store an empty blob."""
        self.put(key, b"")

    # The connection.

    @property
    def _protocol(self) -> str:
        return self.url.partition("://")[0]

    @contextmanager
    def _errors(self) -> Generator[tuple[Any, str]]:
        """Yield the file system and its root; turn its errors into OSError."""
        try:
            yield self._open()
        except (OSError, CompileError):
            raise
        except Exception as e:  # of the many libraries below fsspec
            message = f"the blob store failed: {type(e).__name__}: {str(e)[:200]}"
            raise OSError(errno.EIO, message) from e

    def _open(self) -> tuple[Any, str]:
        """Open the file system once in each process: connections do not survive a fork."""
        with self._lock:
            if self._opened is None or self._opened[0] != os.getpid():
                self._opened = (os.getpid(), *_opened(self.url))
            return self._opened[1:]


def _opened(url: str) -> tuple[Any, str]:
    """Return a file system, and the path of the URL in it. Errors: E-OPTION-VALUE."""
    try:
        from fsspec.core import url_to_fs

        system, root = url_to_fs(url, use_listings_cache=False, skip_instance_cache=True)
    except (ImportError, ValueError) as e:
        raise _unknown(url, e) from None
    return system, str(root).rstrip("/")


def _unknown(url: str, error: Exception) -> CompileError:
    return CompileError(
        "E-OPTION-VALUE",
        f"the blob store {url.partition('://')[0]}:// cannot be opened: {error}",
        hint="pip install 'compilarium[s3]' for S3, or the package of another store",
    )


def _size(facts: Mapping[str, Any]) -> int:
    return int(facts.get("size") or 0)


def _changed_s(facts: Mapping[str, Any]) -> int:
    """Return the time of the last change in whole seconds: listings may omit their fractions.

    Its name differs among file systems.
    """
    names = ("LastModified", "last_modified", "mtime", "updated", "created")
    found = next((facts[name] for name in names if facts.get(name) is not None), 0.0)
    if isinstance(found, str):
        found = datetime.fromisoformat(found)
    return int(found.timestamp() if isinstance(found, datetime) else float(found))
