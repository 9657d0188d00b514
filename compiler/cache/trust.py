"""Refusal of folders and files that another user could have written or replaced.

Each folder on the path must belong to this user or to root, and nobody else may write the folder. A
sticky folder such as /tmp is accepted as a parent of the cache. The cache's own folder must belong
to this user. Systems without user ids (Windows) protect the user's profile themselves.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from compiler.dataclass import dataclass

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
"""The permissions of others to write; the group's permission also covers access control lists."""

_MOST_LINKS = 40
_FLAGS = (
    getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a FIFO in place of a file would block the opening process
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason why a folder or file is not used, and the remedy."""

    path: str
    reason: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.path} {self.reason}"


class NotPrivate(OSError):
    """Raised if another user may write or replace a file or folder, or if a file is not regular."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(errno.EPERM, str(refusal))
        self.refusal = refusal


def refusal(directory: Path) -> Refusal | None:
    """Return the reason to refuse a folder for files of this user alone; None if it is accepted.

    Folders that do not exist yet are accepted. Errors: OSError if a folder cannot be examined.
    """
    if not hasattr(os, "geteuid"):
        return None
    path = os.path.abspath(directory)
    for own in (os.path.dirname(path), path):
        if os.path.islink(own):
            return Refusal(own, "is a symbolic link", "name the target of the link instead")
    facts = None
    for at, facts in _way(path):
        found = _of_parent(at, facts)
        if found is not None:
            return found
    if facts is None or not os.path.lexists(path):
        return None
    return _of_own(path, os.lstat(path))


def _way(path: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the existing folders and links through which the system finds this path."""
    drive, rest = os.path.splitdrive(path)
    at = drive + os.sep
    yield at, os.lstat(at)
    pending = [name for name in reversed(rest.split(os.sep)) if name]
    n_links = 0
    while pending:
        name = pending.pop()
        if name == os.pardir:
            at = os.path.dirname(at)
            continue
        step = os.path.join(at, name)
        try:
            facts = os.lstat(step)
        except FileNotFoundError:
            return
        yield step, facts
        if not stat.S_ISLNK(facts.st_mode):
            at = step
            continue
        n_links += 1
        if n_links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        target = os.readlink(step)
        if os.path.isabs(target):
            at = os.sep
        pending += [n for n in reversed(target.split(os.sep)) if n not in ("", os.curdir)]


def _of_parent(path: str, facts: os.stat_result) -> Refusal | None:
    if facts.st_uid not in (0, os.geteuid()):
        return _of_another_user(path, facts)
    if not stat.S_ISDIR(facts.st_mode) or facts.st_mode & stat.S_ISVTX:
        return None  # the owner of a link, or of a name in a sticky folder, alone replaces it
    return _written_by_others(path, facts)


def _of_own(path: str, facts: os.stat_result) -> Refusal | None:
    if not stat.S_ISDIR(facts.st_mode):
        return Refusal(path, "is not a folder", "name another folder")
    if facts.st_uid != os.geteuid():
        return _of_another_user(path, facts)
    return _written_by_others(path, facts)


def _of_another_user(path: str, facts: os.stat_result) -> Refusal:
    return Refusal(
        path,
        f"belongs to user {facts.st_uid}, and this process runs as user {os.geteuid()}",
        "name a folder of your own",
    )


def _written_by_others(path: str, facts: os.stat_result) -> Refusal | None:
    if not facts.st_mode & OTHERS_WRITE:
        return None
    mode = stat.filemode(facts.st_mode)
    return Refusal(path, f"may be written by other users ({mode})", f"chmod go-w {path}")


def make_folder(directory: Path) -> None:
    """Create a folder and its missing parents, accessible to this user alone.

    Errors: NotPrivate if the folder is refused; OSError if it cannot be created.
    """
    require(directory)
    if not directory.is_dir():
        missing = [directory, *directory.parents]
        for each in reversed([p for p in missing if not p.exists()]):
            each.mkdir(mode=0o700, exist_ok=True)
        require(directory)


def require(directory: Path) -> None:
    """Check a folder. Errors: NotPrivate if it is refused; OSError if it cannot be examined."""
    found = refusal(directory)
    if found is not None:
        raise NotPrivate(found)


def open_private(path: Path, flags: int = os.O_RDONLY, forbidden: int = OTHERS_WRITE) -> int:
    """Open a regular file of this user, and return its descriptor.

    `forbidden` are permissions that the file must not have. The caller has checked the folder.
    Errors: NotPrivate; OSError if the file is a symbolic link, or cannot be opened.
    """
    handle = os.open(path, flags | _FLAGS, 0o600)
    try:
        facts = os.fstat(handle)
        found = _of_file(str(path), facts, forbidden)
        if found is not None:
            raise NotPrivate(found)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _of_file(path: str, facts: os.stat_result, forbidden: int) -> Refusal | None:
    if not stat.S_ISREG(facts.st_mode):
        return Refusal(path, "is not a regular file", f"rm {path}")
    if not hasattr(os, "geteuid"):
        return None
    if facts.st_uid != os.geteuid():
        return _of_another_user(path, facts)
    if facts.st_mode & forbidden:
        mode = stat.filemode(facts.st_mode)
        return Refusal(path, f"gives permissions to other users ({mode})", f"chmod go-w {path}")
    return None
