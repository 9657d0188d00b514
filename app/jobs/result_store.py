"""The server's side of results: the parts and files that a child gives back, in the job's folder.

Everything that a child sends is untrusted: its names, sizes and order. A file appears under its
name only when it is complete.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any, BinaryIO

from app.disk import begin_sync, finish_sync
from app.jobs.frames import frame
from app.jobs.limits import invalid_message, output_limit
from app.jobs.outbox import Outbox
from app.jobs.parts import PART_LIMIT_BYTES, is_name, part_file

MOST_FILES = 100_000
"""Maximum number of names under which a child stores parts and files."""
SYNC_TOGETHER = 128
"""Number of files that are written to the disk together, since each wait costs milliseconds."""
SETTLE_S = 1.0
"""Maximum time in seconds that a measurement waits for the disk."""
REWRITES = 8
"""Maximum ratio of sent bytes to the limit on stored bytes; parts may be replaced."""

_numbers = itertools.count()


class ResultStore:
    """Stores the results of one child. `files` are the names that files may have; `*` is a number.

    `outbox` sends the files to a network blob store, which makes them durable.
    Units: `limit_bytes` is the maximum total size of all parts and files, in bytes.
    """

    def __init__(
        self,
        folder: Path,
        limit_bytes: int,
        files: Sequence[str] = (),
        outbox: Outbox | None = None,
    ) -> None:
        self.folder, self.limit_bytes, self.outbox = folder, limit_bytes, outbox
        self.names = re.compile("|".join(map(_pattern, files)) or r"(?!)")
        self.sizes: dict[Path, int] = {}
        self.folders: set[Path] = set()
        self.unsynced: set[Path] = set()
        self.begun: list[Future[None]] = []
        self.n_stored = self.n_received = 0
        self.open: Incoming | None = None

    def receive(self, event: str, data: Mapping[str, Any]) -> Incoming:
        """Return the receiver of an announced part or file.

        Errors: E-LIMIT-CRASH for a wrong name or size, E-LIMIT-OUTPUT; OSError.
        """
        name, n_bytes = data.get("name"), data.get("bytes")
        is_file = event == "file"
        if data.keys() != {"name", "bytes"} or type(name) is not str or type(n_bytes) is not int:
            raise invalid_message(frame(event, data))
        if n_bytes < 0 or not (self.names.fullmatch(name) if is_file else is_name(name)):
            raise invalid_message(frame(event, data))
        if not is_file and n_bytes > PART_LIMIT_BYTES:
            raise output_limit(PART_LIMIT_BYTES)
        path = self.folder / name if is_file else part_file(self.folder, name)
        self._count(path, n_bytes)
        self.open = Incoming(self, path, n_bytes)
        return self.open

    def _count(self, path: Path, n_bytes: int) -> None:
        self.n_received += n_bytes
        self.n_stored += n_bytes - self.sizes.get(path, 0)
        if self.n_stored > self.limit_bytes or self.n_received > REWRITES * self.limit_bytes:
            raise output_limit(self.limit_bytes)
        if path not in self.sizes and len(self.sizes) >= MOST_FILES:
            raise output_limit(self.limit_bytes)
        self.sizes[path] = n_bytes

    def stored(self, path: Path) -> None:
        """Note a complete file; after every `SYNC_TOGETHER` files, begin to write them to the
        disk."""
        self.open = None
        if self.outbox is not None:
            return self.outbox.stored(path)
        self.unsynced.add(path)
        if len(self.unsynced) >= SYNC_TOGETHER:
            self._begin_sync()

    def _begin_sync(self) -> None:
        self.begun += map(begin_sync, self.unsynced)
        self.unsynced.clear()

    def settle(self) -> None:
        """Wait for the disk, at most `SETTLE_S`, so that it does not disturb a measurement."""
        if self.outbox is not None:
            return self.outbox.wait(SETTLE_S)
        wait(self.begun, SETTLE_S)

    def sync(self, *parents: Path) -> None:
        """Wait until all results, and the entries of these folders, are on the disk, or all results
        in the blob store.

        Errors: OSError.
        """
        if self.outbox is not None:
            return self.outbox.wait()
        self.unsynced |= self.folders | {self.folder, *parents}
        self._begin_sync()
        finish_sync(self.begun)

    def close(self) -> None:
        """Remove a file that is incomplete."""
        if self.open is not None:
            self.open.remove()


def _pattern(name: str) -> str:
    return re.escape(name).replace(r"\*", "[0-9]{1,6}")


class Incoming:
    """A part or file that a child is sending: a file with a temporary name until it is complete."""

    def __init__(self, store: ResultStore, path: Path, n_bytes: int) -> None:
        self.store, self.path, self.n_left = store, path, n_bytes
        if path.parent not in store.folders:
            store.folders.add(path.parent)
            path.parent.mkdir(mode=0o700, exist_ok=True)
        self.partial = path.with_name(f"{path.name}.{os.getpid()}-{next(_numbers)}.partial")
        self.file: BinaryIO = self.partial.open("xb", buffering=0)

    def write(self, piece: memoryview) -> None:
        """Write the next bytes. Errors: OSError."""
        self.n_left -= len(piece)
        while piece:
            piece = piece[self.file.write(piece) or 0 :]

    def finish(self) -> None:
        """Give the complete file its name. Errors: OSError."""
        self.file.close()
        os.replace(self.partial, self.path)
        self.store.stored(self.path)

    def remove(self) -> None:
        """Remove the incomplete file."""
        self.file.close()
        self.partial.unlink(missing_ok=True)
        self.store.open = None
