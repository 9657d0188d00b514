"""The parts of a job's result on disk: compressed JSON by name, written atomically."""

from __future__ import annotations

import gzip
import json
import os
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

from compiler.errors import CompileError

T = TypeVar("T")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class Parts:
    """The folder of parts. Only child processes write parts; handlers of requests read them.

    Units: `limit_bytes` is the maximum size of one uncompressed part, in bytes.
    """

    def __init__(self, job_folder: Path, limit_bytes: int = 64 * 1024 * 1024) -> None:
        self.folder = job_folder / "parts"
        self.limit_bytes = limit_bytes

    def write(self, name: str, payload: Mapping[str, object]) -> None:
        """Store a payload. Errors: E-LIMIT-OUTPUT; ValueError for a number that is not finite."""
        text = json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        raw = text.encode("utf-8", "replace")
        if len(raw) > self.limit_bytes:
            raise CompileError(
                "E-LIMIT-OUTPUT",
                f"the part {name} has {len(raw):,} bytes, the limit is {self.limit_bytes:,}",
            )
        self.folder.mkdir(exist_ok=True, mode=0o700)
        path = self._path(name)
        partial = path.with_suffix(".partial")
        partial.write_bytes(gzip.compress(raw, compresslevel=5, mtime=0))
        os.replace(partial, path)

    def has(self, name: str) -> bool:
        """Return whether the part has been written."""
        return self._path(name).is_file()

    def read_compressed(self, name: str) -> bytes:
        """Return the compressed content of a part. Errors: E-RESULT-ABSENT."""
        try:
            return self._path(name).read_bytes()
        except OSError:
            raise CompileError("E-RESULT-ABSENT", f"the part {name} does not exist") from None

    def read(self, name: str) -> dict[str, Any]:
        """Read the payload of a part. Errors: E-RESULT-ABSENT."""
        return json.loads(decompress(self.read_compressed(name)))

    def payload(self, name: str, shape: type[T]) -> T:
        """Return a part that is a declared payload. Errors: E-RESULT-ABSENT."""
        return cast(T, self.read(name))

    def _path(self, name: str) -> Path:
        assert _NAME.fullmatch(name), f"{name!r} is not a name of a part"
        return self.folder / f"{name}.json.gz"


def decompress(data: bytes) -> bytes:
    """Decompress a part. Errors: E-RESULT-ABSENT when the file is damaged."""
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error):
        raise CompileError("E-RESULT-ABSENT", "the stored part of the result is damaged") from None
