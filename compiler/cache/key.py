"""The secret key of a cache folder: 32 random bytes in a file that this user alone may read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from compiler.cache.notices import say_once
from compiler.cache.trust import open_private

NAME = ".key"
KEY_BYTES = 32
_ANY_OTHER = stat.S_IRWXG | stat.S_IRWXO


def known_key(directory: Path) -> bytes | None:
    """Return the key of a checked folder; None if it is missing, or if others could read it."""
    try:
        handle = open_private(directory / NAME, forbidden=_ANY_OTHER)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as f:
        key = f.read(KEY_BYTES + 1)
    return key if len(key) == KEY_BYTES else None


def made_key(directory: Path) -> bytes | None:
    """Return the key of a checked folder, created if necessary; None if no key can be created.

    A key that others could read, or a damaged key, is replaced, which invalidates all entries. If
    two processes create a key, both use the key of the first. Errors: OSError.
    """
    key = known_key(directory)
    if key is not None:
        return key
    file = directory / NAME
    if os.path.lexists(file):
        say_once(f"{file} could be read by others or is damaged; a new key replaces it")
        os.unlink(file)
    new = directory / f".new-{os.urandom(8).hex()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(new, flags, 0o600), "wb") as f:
        f.write(os.urandom(KEY_BYTES))
        f.flush()
        os.fsync(f.fileno())
    try:
        os.link(new, file)  # unlike a rename, this never replaces the key of another process
    except FileExistsError:
        pass
    finally:
        os.unlink(new)
    return known_key(directory)
