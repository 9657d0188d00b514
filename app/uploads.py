"""Uploaded files: streamed to disk within a size limit, stored by the digest of their content.

Only the child process of a job reads the content of an upload. The user's file name is text, never
a path. The least recently used files are evicted when space is needed; files that a
shared link uses are never evicted.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from app.config import Settings
from compiler.errors import CompileError, Where
from compiler.frontend.written import language_of
from compiler.units import bytes_text

_ID = re.compile(r"[0-9a-f]{64}")
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


class UploadStore:
    """The folder of uploads. Units: bytes."""

    def __init__(
        self,
        folder: Path,
        *,
        limit_bytes: int,
        limit_s: float,
        kept_bytes: int,
        pinned_bytes: int,
    ) -> None:
        self.folder = folder
        self.limit_bytes = limit_bytes
        self.limit_s = limit_s
        self.kept_bytes = kept_bytes
        self.pinned_bytes = pinned_bytes
        self._pinning = threading.Lock()

    @staticmethod
    def of(settings: Settings) -> UploadStore:
        """Return the store of an installation; all its stores share the folder."""
        return UploadStore(
            settings.data_folder / "uploads",
            limit_bytes=settings.upload_limit_bytes,
            limit_s=settings.upload_limit_s,
            kept_bytes=settings.uploads_kept_bytes,
            pinned_bytes=settings.linked_models_bytes,
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
            upload = Upload(_id_of(digest, called), called, n_bytes)
            os.replace(temporary, self._content(upload.id))
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        facts = self.folder / f"{upload.id}.json"
        partial = self.folder / f"{upload.id}.{os.getpid()}.{time.monotonic_ns()}.partial"
        partial.write_text(json.dumps(asdict(upload)))
        os.replace(partial, facts)
        self.prune(keep=upload.id)
        return upload

    def find(self, upload_id: str) -> Upload:
        """Find an upload by id. Errors: E-REQUEST-UNKNOWN."""
        if _ID.fullmatch(upload_id) and self._content(upload_id).is_file():
            try:
                return Upload(**json.loads((self.folder / f"{upload_id}.json").read_text()))
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
            new = [upload for each, upload in found.items() if not self.is_pinned(each)]
            if not new:
                return
            wanted = sum(upload.bytes for upload in new)
            pinned = sum(size for _, size, path in self._contents() if self.is_pinned(path.stem))
            if pinned + wanted > self.pinned_bytes:
                raise CompileError(
                    "E-LINK-FULL",
                    f"models of links may take {self.pinned_bytes:,} bytes on this server; "
                    f"{pinned:,} are used, and this link needs {wanted:,} more",
                )
            for upload in new:
                self._pin(upload.id).touch()
                self.find(upload.id)  # the upload may have been evicted

    def is_pinned(self, upload_id: str) -> bool:
        """Return whether an upload is pinned."""
        return self._pin(upload_id).is_file()

    def prune(self, keep: str = "") -> None:
        """Evict the least recently used uploads until the rest fits into the limit; keep pinned
        uploads.

        Unfinished uploads of a terminated server are removed too.
        """
        for path in self.folder.glob("incoming-*"):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > self.limit_s + _GRACE_S:
                    path.unlink()
        contents = [each for each in self._contents() if not self.is_pinned(each[2].stem)]
        total = sum(size for _, size, _ in contents)
        for _, size, path in sorted(contents):
            if total <= self.kept_bytes:
                return
            if path.stem != keep:
                path.unlink(missing_ok=True)
                path.with_suffix(".json").unlink(missing_ok=True)
                total -= size

    def _contents(self) -> list[tuple[float, int, Path]]:
        """Return for each file the time of its last use, its size in bytes, and its path."""
        found: list[tuple[float, int, Path]] = []
        for path in self.folder.glob("*.onnx"):
            with suppress(OSError):
                found.append((path.stat().st_mtime, path.stat().st_size, path))
        return found

    def _pin(self, digest: str) -> Path:
        return self.folder / f"{digest}.pinned"

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


def _id_of(digest: str, name: str) -> str:
    """Return an upload's id: a model file's digest, or a digest of a text's digest and language."""
    language = language_of(name)
    return hashlib.sha256(f"{language} {digest}".encode()).hexdigest() if language else digest


def printable_name(name: str) -> str:
    """Sanitise a file name for display: its last part, without control and direction characters."""
    last = re.split(r"[/\\]", name)[-1]
    clean = "".join(ch for ch in last if ch.isprintable()).strip()
    return clean[:_NAME_LIMIT] or "model.onnx"
