"""The operations of a blob store."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Blob:
    """A blob in a listing: its key, its size, and the time of its last use in Unix seconds."""

    key: str
    n_bytes: int
    used_s: float


class Blobs(ABC):
    """Blobs by key. A blob appears complete, or not at all.

    All methods raise OSError if the store fails, and FileNotFoundError for an absent blob.
    """

    is_folder: bool
    """Whether `path` is the place of a blob, so that nothing is copied."""

    @abstractmethod
    def require(self) -> None:
        """Check that the packages of the store are installed. Errors: E-OPTION-VALUE."""

    @abstractmethod
    def path(self, key: str) -> Path:
        """Return the place of a blob, or of its copy, on this machine; the file may not exist."""

    @abstractmethod
    def file(self, key: str) -> Path:
        """Return a file of this machine with the content of a blob; the content must not change
        any more."""

    @abstractmethod
    def fetch(self, key: str, path: Path) -> None:
        """Copy the present content of a blob to a file, which appears complete."""

    @abstractmethod
    def get(self, key: str) -> bytes:
        """Return the content of a blob."""

    @abstractmethod
    def put(self, key: str, content: bytes) -> None:
        """Store a blob on the disk; replace an earlier one."""

    @abstractmethod
    def put_file(self, key: str, file: Path) -> None:
        """Move a file of `staging` into the store; the caller has written it to the disk."""

    @abstractmethod
    def put_copies(self, keys: Mapping[str, Path]) -> None:
        """Store copies of files; the files remain."""

    @abstractmethod
    def staging(self, prefix: str) -> Path:
        """Return an existing folder for files that will be blobs with this prefix."""

    @abstractmethod
    def exists(self, key: str) -> bool:
        """Return whether there is a blob."""

    @abstractmethod
    def find(self, key: str) -> Blob:
        """Return the facts about a blob."""

    @abstractmethod
    def below(self, prefix: str) -> Iterator[Blob]:
        """Yield the blobs below a prefix, such as `uploads`, at any depth."""

    @abstractmethod
    def children(self, prefix: str) -> set[str]:
        """Return the names directly below a prefix."""

    @abstractmethod
    def delete(self, keys: Iterable[str]) -> None:
        """Remove blobs; absent ones are no error."""

    @abstractmethod
    def delete_below(self, prefix: str) -> None:
        """Remove all blobs below a prefix; if there are none, nothing happens."""

    @abstractmethod
    def touch(self, key: str) -> None:
        """Note the use of a blob."""

    @abstractmethod
    def mark(self, key: str) -> None:
        """Store an empty blob, or note its use."""
