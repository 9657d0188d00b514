"""The size of the stored data, by folder of the data folder."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from app.quotas import tree_bytes

_KEPT_S = 30.0
"""Time for which sizes are cached: listing thousands of files takes tens of milliseconds."""
OTHER = "files"
"""The files of the data folder itself: the database."""


class StoredBytes:
    """The sizes of the folders of a data folder, measured at most every `kept_s` seconds."""

    def __init__(self, folder: Path, kept_s: float = _KEPT_S) -> None:
        self.folder = folder
        self.kept_s = kept_s
        self._sizes: Mapping[str, int] = {}
        self._until_s = 0.0
        self._lock = threading.Lock()

    def sizes(self) -> Mapping[str, int]:
        """Return bytes by name of the folder."""
        with self._lock:
            if time.monotonic() >= self._until_s:
                self._sizes = _sizes(self.folder)
                self._until_s = time.monotonic() + self.kept_s
            return self._sizes


def _sizes(folder: Path) -> Mapping[str, int]:
    sizes = {OTHER: 0}
    try:
        entries = list(os.scandir(folder))
    except FileNotFoundError:  # before the first upload
        return sizes
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            sizes[entry.name] = tree_bytes(Path(entry.path))
        else:
            with suppress(FileNotFoundError):  # removed meanwhile
                sizes[OTHER] += entry.stat(follow_symlinks=False).st_size
    return sizes
