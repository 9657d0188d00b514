"""Blobs as files of a folder, which may be on a file system that machines share."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from app.disk import sync
from app.store.blobs.interface import Blob, Blobs

_numbers = itertools.count()


def partial_name(path: Path) -> Path:
    """Return a name for an incomplete file, beside its final place."""
    return path.with_name(f"{path.name}.{os.getpid()}-{next(_numbers)}.partial")


class FolderBlobs(Blobs):
    """The blobs of a folder."""

    is_folder = True

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def require(self) -> None:
        """Do nothing: a folder needs no package."""

    def path(self, key: str) -> Path:
        """Return the place of a blob."""
        return self.folder / key

    def file(self, key: str) -> Path:
        """Return the place of an existing blob."""
        path = self.folder / key
        path.stat()
        return path

    def fetch(self, key: str, path: Path) -> None:
        """Copy a file."""
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        partial = partial_name(path)
        try:
            shutil.copyfile(self.folder / key, partial)
            os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)

    def get(self, key: str) -> bytes:
        """Return the content of a blob."""
        return (self.folder / key).read_bytes()

    def put(self, key: str, content: bytes) -> None:
        """Store a blob; a later `put_file` in the same folder writes its name to the disk too."""
        path = self.folder / key
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        partial = partial_name(path)
        try:
            partial.write_bytes(content)
            sync((partial,))
            os.replace(partial, path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise

    def put_file(self, key: str, file: Path) -> None:
        """Rename a file of `staging` to its final name."""
        path = self.folder / key
        os.replace(file, path)
        sync((path.parent,))

    def put_copies(self, keys: Mapping[str, Path]) -> None:
        """Store copies of files."""
        for key, file in keys.items():
            self.put(key, file.read_bytes())

    def staging(self, prefix: str) -> Path:
        """Return the folder of the blobs themselves, so that no file is copied."""
        folder = self.folder / prefix
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return folder

    def exists(self, key: str) -> bool:
        """Return whether there is a blob."""
        return (self.folder / key).is_file()

    def find(self, key: str) -> Blob:
        """Return the facts about a file."""
        facts = (self.folder / key).stat()
        return Blob(key, facts.st_size, facts.st_mtime)

    def below(self, prefix: str) -> Iterator[Blob]:
        """Yield the files below a folder; those removed meanwhile are left out."""
        for root, _, names in os.walk(self.folder / prefix):
            for name in names:
                with suppress(OSError):
                    yield self.find(Path(root, name).relative_to(self.folder).as_posix())

    def children(self, prefix: str) -> set[str]:
        """Return the names in a folder."""
        with suppress(FileNotFoundError):
            return set(os.listdir(self.folder / prefix))
        return set()

    def delete(self, keys: Iterable[str]) -> None:
        """Remove files."""
        for key in keys:
            (self.folder / key).unlink(missing_ok=True)

    def delete_below(self, prefix: str) -> None:
        """Remove a folder."""
        shutil.rmtree(self.folder / prefix, ignore_errors=True)

    def touch(self, key: str) -> None:
        """Note the use of a blob in the time of its file."""
        os.utime(self.folder / key)

    def mark(self, key: str) -> None:
        """Create an empty file, or renew its time."""
        (self.folder / key).touch(mode=0o600)
