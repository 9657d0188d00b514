"""The parts of a job's result on disk: compressed JSON by name."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

from compiler.errors import CompileError

T = TypeVar("T")
PARTS = "parts"
"""The folder of the parts, in the folder of the job."""
PART_LIMIT_BYTES = 64 * 1024 * 1024
"""Maximum size of one uncompressed part, in bytes."""
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_NAME_LIMIT = 100
_GZIP = 16 + zlib.MAX_WBITS


def is_name(name: str) -> bool:
    """Return whether a text is the name of a part, and so is safe in the name of a file."""
    return len(name) <= _NAME_LIMIT and bool(_NAME.fullmatch(name))


def part_file(folder: Path, name: str) -> Path:
    """Return the path of a part in the folder of a job."""
    assert is_name(name), f"{name!r} is not a name of a part"
    return folder / PARTS / f"{name}.json.gz"


def packed(name: str, payload: Mapping[str, object]) -> bytes:
    """Return the compressed content of a part.

    Errors: E-LIMIT-OUTPUT; ValueError for a number that is not finite.
    """
    text = json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    raw = text.encode("utf-8", "replace")
    if len(raw) > PART_LIMIT_BYTES:
        raise CompileError(
            "E-LIMIT-OUTPUT",
            f"the part {name} has {len(raw):,} bytes, the limit is {PART_LIMIT_BYTES:,}",
        )
    return gzip.compress(raw, compresslevel=5, mtime=0)


class Parts:
    """Reads the parts of a job. The server alone writes parts: see result_store.py."""

    def __init__(self, job_folder: Path) -> None:
        self.folder = job_folder

    def has(self, name: str) -> bool:
        """Return whether the part has been stored."""
        return part_file(self.folder, name).is_file()

    def read_compressed(self, name: str) -> bytes:
        """Return the compressed content of a part. Errors: E-RESULT-ABSENT."""
        try:
            return part_file(self.folder, name).read_bytes()
        except OSError:
            raise CompileError("E-RESULT-ABSENT", f"the part {name} does not exist") from None

    def read(self, name: str) -> dict[str, Any]:
        """Read the payload of a part. Errors: E-RESULT-ABSENT."""
        raw = decompress(self.read_compressed(name))
        try:
            return json.loads(raw)
        except (ValueError, RecursionError):
            raise _damaged() from None

    def payload(self, name: str, shape: type[T]) -> T:
        """Return a part that is a declared payload. Errors: E-RESULT-ABSENT."""
        return cast(T, self.read(name))


def decompress(data: bytes) -> bytes:
    """Decompress a part, within the size limit of a part.

    Errors: E-RESULT-ABSENT when the file is damaged or too large.
    """
    stream = zlib.decompressobj(_GZIP)
    try:
        raw = stream.decompress(data, PART_LIMIT_BYTES + 1)
    except zlib.error:
        raw = b""
    if not stream.eof or len(raw) > PART_LIMIT_BYTES:
        raise _damaged()
    return raw


def _damaged() -> CompileError:
    return CompileError("E-RESULT-ABSENT", "the stored part of the result is damaged")
