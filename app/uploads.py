"""Uploaded files: streamed to disk within a size limit, stored by the digest of their content.

An upload with the id ID has two blobs: the content `uploads/ID.onnx` and the facts
`uploads/ID.json`. If a link uses the upload, the empty blob `uploads/ID.pinned` exists too.

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
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Protocol

from app.blob_store import blobs_of
from app.config import Settings
from app.quotas import Growth, Item, Quota, excess, quotas
from app.store.blobs.interface import Blob, Blobs
from compiler.errors import CompileError, Where
from compiler.frontend.written import language_of
from compiler.units import bytes_text

UPLOADS = "uploads"
_CONTENT, _FACTS, _PINNED = ".onnx", ".json", ".pinned"
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
    """The uploads in a blob store. Units: bytes."""

    def __init__(
        self,
        blobs: Blobs,
        *,
        limit_bytes: int,
        limit_s: float,
        quota: Quota,
        pinned_bytes: int,
        needed: Callable[[], Collection[str]] = tuple,
    ) -> None:
        """Open a store; `needed` returns the ids of the uploads that unfinished jobs need."""
        self.blobs = blobs
        self.limit_bytes = limit_bytes
        self.limit_s = limit_s
        self.quota = quota
        self.pinned_bytes = pinned_bytes
        self.needed = needed
        self._pinning = threading.Lock()
        self._growth = Growth(quota)

    @staticmethod
    def of(settings: Settings, needed: Callable[[], Collection[str]] = tuple) -> UploadStore:
        """Return the store of an installation; all its stores share the uploads."""
        return UploadStore(
            blobs_of(settings),
            limit_bytes=settings.upload_limit_bytes,
            limit_s=settings.upload_limit_s,
            quota=quotas(settings)["uploads"],
            pinned_bytes=settings.linked_models_bytes,
            needed=needed,
        )

    @property
    def folder(self) -> Path:
        """The folder of uploads, or of their copies, on this machine."""
        return self.blobs.path(UPLOADS)

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
        handle, temporary = tempfile.mkstemp(prefix="incoming-", dir=self.blobs.staging(UPLOADS))
        try:
            with os.fdopen(handle, "wb") as file:
                digest, n_bytes = self._copy(stream, file)
                file.flush()
                os.fsync(file.fileno())
            upload = Upload.of(digest, called, n_bytes)
            # Facts alone are no upload, so they come first.
            self.blobs.put(_facts(upload.id), json.dumps(asdict(upload)).encode())
            self._put_content(upload.id, Path(temporary))
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        if self._growth.is_much_with(upload.bytes):
            self.prune(keep=upload.id)
        return upload

    def _put_content(self, upload_id: str, file: Path) -> None:
        """Store a file as the content of an upload, unless an equal upload exists.

        A starting job may be mounting the existing file in its sandbox, so it is not replaced.
        """
        key = content_key(upload_id)
        with self._pinning:
            if self.blobs.exists(key):
                with suppress(FileNotFoundError):  # another process evicted it
                    self.blobs.touch(key)
                    file.unlink()
                    return
        self.blobs.put_file(key, file)

    def find(self, upload_id: str) -> Upload:
        """Find an upload by id. Errors: E-REQUEST-UNKNOWN."""
        if _ID.fullmatch(upload_id) and self.blobs.exists(content_key(upload_id)):
            try:
                return Upload(**json.loads(self.blobs.get(_facts(upload_id))))
            except (FileNotFoundError, ValueError, TypeError):
                pass
        raise CompileError("E-REQUEST-UNKNOWN", f"there is no upload {upload_id[:70]!r}")

    def use(self, upload_id: str) -> Upload:
        """Find an upload and mark it as used. Errors: E-REQUEST-UNKNOWN."""
        found = self.find(upload_id)
        with suppress(FileNotFoundError):  # evicted meanwhile: the job finds out
            self.blobs.touch(content_key(found.id))
        return found

    def path(self, upload_id: str) -> Path:
        """Return a file of this machine with the content of an upload, and mark the upload as used.

        Errors: E-REQUEST-UNKNOWN.
        """
        return self.blobs.file(content_key(self.use(upload_id).id))

    def pin(self, *upload_ids: str) -> None:
        """Pin all of these uploads forever, or none on an error; links share pinned files.

        Errors: E-REQUEST-UNKNOWN; E-LINK-FULL when the pinned files would exceed the limit.
        """
        with self._pinning:
            found = {each: self.find(each) for each in upload_ids}
            for each in found:
                if self.is_pinned(each):
                    self.blobs.mark(_pin(each))  # `unpin` spares recent pins
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
                self.blobs.mark(_pin(upload.id))
                self.find(upload.id)  # the upload may have been evicted

    def _pinned_bytes(self) -> int:
        """Return the total size of the pinned uploads, which are few among all uploads."""
        if not self.blobs.is_folder:  # a listing has all facts in few requests
            blobs = self._blobs()
            pins = _ids(blobs, _PINNED)
            return sum(each.n_bytes for each in _contents(blobs) if _id(each) in pins)
        total = 0
        for name in self._pins():
            with suppress(FileNotFoundError):
                total += self.blobs.find(content_key(name.removesuffix(_PINNED))).n_bytes
        return total

    def _pins(self) -> list[str]:
        return [name for name in self.blobs.children(UPLOADS) if name.endswith(_PINNED)]

    def is_pinned(self, upload_id: str) -> bool:
        """Return whether an upload is pinned."""
        return self.blobs.exists(_pin(upload_id))

    def has_pins(self) -> bool:
        """Return whether any upload is pinned."""
        return bool(self._pins())

    def unpin(self, linked: Collection[str]) -> int:
        """Unpin the uploads that no link uses, and return their number.

        An upload is pinned before its link is stored, so recent pins stay.
        """
        with self._pinning:
            before = time.time() - _GRACE_S
            pins = [each for each in self._blobs() if each.key.endswith(_PINNED)]
            old = [each for each in pins if each.used_s < before]
            unused = [each.key for each in old if _id(each) not in linked]
            self.blobs.delete(unused)
            return len(unused)

    def prune(self, keep: str = "") -> int:
        """Evict the uploads beyond the quota, and return their number.

        Pinned uploads, and those that an unfinished job needs, stay. Incomplete uploads of a
        terminated server are removed too.
        """
        self._growth.reset()
        blobs = self._blobs()
        self._remove_leftovers(blobs)
        pins, needed = _ids(blobs, _PINNED), {keep, *self.needed()}
        items = [
            Item(PurePosixPath(each.key), each.used_s, each.n_bytes, _id(each) in needed)
            for each in _contents(blobs)
            if _id(each) not in pins
        ]
        return sum(self._evict(item) for item in excess(items, self.quota, time.time()))

    def _evict(self, item: Item) -> bool:
        """Remove an upload, unless it has been used or pinned since it was listed."""
        upload_id = item.path.stem
        with self._pinning, suppress(FileNotFoundError):
            now = self.blobs.find(str(item.path))
            if now.used_s == item.used_s and not self.is_pinned(upload_id):
                self.blobs.delete([content_key(upload_id), _facts(upload_id)])
                return True
        return False

    def _remove_leftovers(self, blobs: Iterable[Blob]) -> None:
        """Remove old temporary files, and old facts without a content."""
        before = time.time() - self.limit_s - _GRACE_S
        folder = self.blobs.staging(UPLOADS)
        for pattern in ("incoming-*", "*.partial"):
            for path in folder.glob(pattern):
                with suppress(OSError):
                    if path.stat().st_mtime < before:
                        path.unlink()
        contents = _ids(blobs, _CONTENT)
        facts = [b for b in blobs if b.key.endswith(_FACTS) and _id(b) not in contents]
        self.blobs.delete([each.key for each in facts if each.used_s < before])

    def _blobs(self) -> Sequence[Blob]:
        return list(self.blobs.below(UPLOADS))

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


def content_key(upload_id: str) -> str:
    """Return the key of the content of an upload."""
    return f"{UPLOADS}/{upload_id}{_CONTENT}"


def _facts(upload_id: str) -> str:
    return f"{UPLOADS}/{upload_id}{_FACTS}"


def _pin(upload_id: str) -> str:
    return f"{UPLOADS}/{upload_id}{_PINNED}"


def _id(blob: Blob) -> str:
    return PurePosixPath(blob.key).stem


def _ids(blobs: Iterable[Blob], suffix: str) -> set[str]:
    return {_id(each) for each in blobs if each.key.endswith(suffix)}


def _contents(blobs: Iterable[Blob]) -> list[Blob]:
    return [each for each in blobs if each.key.endswith(_CONTENT)]


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
