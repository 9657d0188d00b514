"""Uploaded files: streamed to disk within a size limit, stored by the digest of their content.

Only the child process of a job reads the content of an upload. The user's file name is text, never
a path. The least recently used files are evicted when space is needed; files that a
shared link or an unfinished job uses are never evicted.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from app.config import Settings
from app.disk import sync
from app.quotas import Growth, Item, Quota, excess, quotas
from compiler.errors import CompileError, Where
from compiler.frontend.written import language_of
from compiler.units import bytes_text

_ID = re.compile(r"[0-9a-f]{64}")
_ID_IN_TEXT = re.compile(rf"(?<![0-9a-f]){_ID.pattern}(?![0-9a-f])")
_CHUNK_BYTES = 256 * 1024
_NAME_LIMIT = 200
_GRACE_S = 3600.0
TOO_LARGE_HINT = (
    "start the server with a larger --upload-limit (compilarium serve --upload-limit 500MB), or "
    "write the report on the command line: compilarium report MODEL"
)


class Stream(Protocol):
    """The source of an upload's bytes."""

    def read(self, size: int, /) -> bytes:
        """Read at most `size` bytes; return no bytes at the end."""
        ...


@dataclass(frozen=True, slots=True)
class Upload:
    """An uploaded file with its original name.

    `id` is the SHA-256 digest of the content. For a model written as text, `id` is the digest of
    the language and of the content digest.
    """

    id: str
    name: str
    bytes: int

    @staticmethod
    def of(digest: str, name: str, n_bytes: int) -> Upload:
        """Return the upload of a content with this digest."""
        return Upload(_id_of(digest, name), name, n_bytes)


class UploadStore:
    """The folder of uploads. Units: bytes."""

    def __init__(
        self,
        folder: Path,
        *,
        limit_bytes: int,
        limit_s: float,
        quota: Quota,
        pinned_bytes: int,
        needed: Callable[[], Collection[str]] = tuple,
    ) -> None:
        """Open a store; `needed` returns the ids of the uploads that unfinished jobs need."""
        self.folder = folder
        self.limit_bytes = limit_bytes
        self.limit_s = limit_s
        self.quota = quota
        self.pinned_bytes = pinned_bytes
        self.needed = needed
        self._pinning = threading.Lock()
        self._growth = Growth(quota)

    @staticmethod
    def of(settings: Settings, needed: Callable[[], Collection[str]] = tuple) -> UploadStore:
        """Return the store of an installation; all its stores share the folder."""
        return UploadStore(
            settings.data_folder / "uploads",
            limit_bytes=settings.upload_limit_bytes,
            limit_s=settings.upload_limit_s,
            quota=quotas(settings)["uploads"],
            pinned_bytes=settings.linked_models_bytes,
            needed=needed,
        )

    def save(self, stream: Stream, name: str, announced_bytes: int | None = None) -> Upload:
        """Store a stream.

        Errors: E-UPLOAD-SIZE as soon as the limit is exceeded; E-LIMIT-SECONDS if the upload takes
        too long; E-MODEL-EMPTY for no bytes; OSError if the disk is full. Errors with a code are
        located at the name. A failure leaves no file.
        """
        called = printable_name(name)
        try:
            return self._save(stream, called, announced_bytes)
        except CompileError as error:
            raise error.at(Where(source=called)) from None

    def _save(self, stream: Stream, called: str, announced_bytes: int | None) -> Upload:
        if announced_bytes is not None and announced_bytes > self.limit_bytes:
            raise self.too_large(announced_bytes)
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, temporary = tempfile.mkstemp(prefix="incoming-", dir=self.folder)
        try:
            with os.fdopen(handle, "wb") as file:
                digest, n_bytes = self._copy(stream, file)
                file.flush()
                os.fsync(file.fileno())
            upload = Upload.of(digest, called, n_bytes)
            self._write_facts(upload)
            os.replace(temporary, self._content(upload.id))
            sync((self.folder,))
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        if self._growth.is_much_with(upload.bytes):
            self.prune(keep=upload.id)
        return upload

    def _write_facts(self, upload: Upload) -> None:
        """Write the facts of an upload before its content: facts alone are no upload."""
        partial = self.folder / f"{upload.id}.{os.getpid()}.{time.monotonic_ns()}.partial"
        try:
            partial.write_text(json.dumps(asdict(upload)))
            sync((partial,))
            os.replace(partial, self._facts(upload.id))
        except BaseException:
            partial.unlink(missing_ok=True)
            raise

    def find(self, upload_id: str) -> Upload:
        """Find an upload by id. Errors: E-REQUEST-UNKNOWN."""
        if _ID.fullmatch(upload_id) and self._content(upload_id).is_file():
            try:
                return Upload(**json.loads(self._facts(upload_id).read_text()))
            except (OSError, ValueError, TypeError):
                pass
        raise CompileError("E-REQUEST-UNKNOWN", f"there is no upload {upload_id[:70]!r}")

    def path(self, upload_id: str) -> Path:
        """Return the path of an upload and mark it as used. Errors: E-REQUEST-UNKNOWN."""
        content = self._content(self.find(upload_id).id)
        os.utime(content)
        return content

    def pin(self, *upload_ids: str) -> None:
        """Pin all of these uploads forever, or none on an error; links share pinned files.

        Errors: E-REQUEST-UNKNOWN; E-LINK-FULL when the pinned files would exceed the limit.
        """
        with self._pinning:
            found = {each: self.find(each) for each in upload_ids}
            for each in found:
                if self.is_pinned(each):
                    self._pin(each).touch()  # `unpin` spares recent pins
            new = [upload for each, upload in found.items() if not self.is_pinned(each)]
            if not new:
                return
            wanted = sum(upload.bytes for upload in new)
            pinned = self._pinned_bytes()
            if pinned + wanted > self.pinned_bytes:
                raise CompileError(
                    "E-LINK-FULL",
                    f"models of links may take {self.pinned_bytes:,} bytes on this server; "
                    f"{pinned:,} are used, and this link needs {wanted:,} more",
                )
            for upload in new:
                self._pin(upload.id).touch()
                self.find(upload.id)  # the upload may have been evicted

    def _pinned_bytes(self) -> int:
        """Return the total size of the pinned uploads, which are few among all uploads."""
        total = 0
        for path in self.folder.glob("*.pinned"):
            with suppress(OSError):
                total += self._content(path.stem).stat().st_size
        return total

    def is_pinned(self, upload_id: str) -> bool:
        """Return whether an upload is pinned."""
        return self._pin(upload_id).is_file()

    def has_pins(self) -> bool:
        """Return whether any upload is pinned."""
        return next(self.folder.glob("*.pinned"), None) is not None

    def unpin(self, linked: Collection[str]) -> int:
        """Unpin the uploads that no link uses, and return their number.

        An upload is pinned before its link is stored, so recent pins stay.
        """
        with self._pinning:
            before = time.time() - _GRACE_S
            old = [p for p in self.folder.glob("*.pinned") if p.stat().st_mtime < before]
            unused = [path for path in old if path.stem not in linked]
            for path in unused:
                path.unlink(missing_ok=True)
            return len(unused)

    def prune(self, keep: str = "") -> int:
        """Evict the uploads beyond the quota, and return their number.

        Pinned uploads, and those that an unfinished job needs, stay. Incomplete uploads of a
        terminated server are removed too.
        """
        self._growth.reset()
        for path in self._leftovers():
            path.unlink(missing_ok=True)
        needed = {keep, *self.needed()}
        items = [
            Item(path, used_s, size, path.stem in needed)
            for used_s, size, path in self._contents()
            if not self.is_pinned(path.stem)
        ]
        return sum(self._evict(item) for item in excess(items, self.quota, time.time()))

    def _evict(self, item: Item) -> bool:
        """Remove an upload, unless it has been used or pinned since it was listed."""
        with self._pinning, suppress(OSError):
            if item.path.stat().st_mtime == item.used_s and not self.is_pinned(item.path.stem):
                item.path.unlink()
                self._facts(item.path.stem).unlink(missing_ok=True)
                return True
        return False

    def _leftovers(self) -> Iterator[Path]:
        """Yield old temporary files, and old facts without a content."""
        before = time.time() - self.limit_s - _GRACE_S
        for pattern in ("incoming-*", "*.partial", "*.json"):
            for path in self.folder.glob(pattern):
                with suppress(OSError):
                    is_lone = path.suffix != ".json" or not path.with_suffix(".onnx").exists()
                    if is_lone and path.stat().st_mtime < before:
                        yield path

    def _contents(self) -> list[tuple[float, int, Path]]:
        """Return for each file the time of its last use, its size in bytes, and its path."""
        found: list[tuple[float, int, Path]] = []
        for path in self.folder.glob("*.onnx"):
            with suppress(OSError):
                found.append((path.stat().st_mtime, path.stat().st_size, path))
        return found

    def _pin(self, digest: str) -> Path:
        return self.folder / f"{digest}.pinned"

    def _facts(self, digest: str) -> Path:
        return self.folder / f"{digest}.json"

    def _content(self, digest: str) -> Path:
        return self.folder / f"{digest}.onnx"

    def _copy(self, stream: Stream, file: Stream | object) -> tuple[str, int]:
        digest, n_bytes = hashlib.sha256(), 0
        end = time.monotonic() + self.limit_s
        while chunk := stream.read(_CHUNK_BYTES):
            n_bytes += len(chunk)
            if n_bytes > self.limit_bytes:
                raise self.too_large(n_bytes)
            if time.monotonic() > end:
                raise CompileError(
                    "E-LIMIT-SECONDS", f"the upload took longer than {self.limit_s:g} s"
                )
            digest.update(chunk)
            file.write(chunk)  # type: ignore[attr-defined]
        if not n_bytes:
            raise CompileError("E-MODEL-EMPTY", "the upload is empty")
        return digest.hexdigest(), n_bytes

    def too_large(self, n_bytes: int) -> CompileError:
        """Return the error of an upload that exceeds the size limit."""
        limit = bytes_text(self.limit_bytes)
        return CompileError(
            "E-UPLOAD-SIZE",
            f"an upload has at most {limit}, this one has at least {n_bytes:,} B",
            hint=TOO_LARGE_HINT,
        )


def uploads_in(text: str) -> set[str]:
    """Return the ids of uploads that a text contains, such as a request or a link."""
    return set(_ID_IN_TEXT.findall(text))


def _id_of(digest: str, name: str) -> str:
    """Return an upload's id: a model file's digest, or a digest of a text's digest and language."""
    language = language_of(name)
    return hashlib.sha256(f"{language} {digest}".encode()).hexdigest() if language else digest


def printable_name(name: str) -> str:
    """Sanitise a file name for display: its last part, without control and direction characters."""
    last = re.split(r"[/\\]", name)[-1]
    clean = "".join(ch for ch in last if ch.isprintable()).strip()
    return clean[:_NAME_LIMIT] or "model.onnx"
