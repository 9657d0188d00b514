"""A user for each sandbox that root builds: untrusted code is never root, not even inside.

These users may read a file that is lent to them, if their sandbox shows it.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from collections.abc import Generator, Iterator

from sandbox.result import SandboxError
from sandbox.staging import READERS

FIRST_UID, N_UIDS = 60_600, 400
"""User ids that neither systemd nor Debian assigns; no account is created."""


@contextlib.contextmanager
def dedicated_user() -> Generator[int | None]:
    """Yield a user id that no other sandbox of this machine has, or None if not root.

    Errors: SandboxError if all are in use.
    """
    if os.geteuid() != 0:
        yield None
        return
    uid, lock = _take()
    try:
        yield uid
    finally:
        lock.close()


def _take() -> tuple[int, socket.socket]:
    # A process that dies gives up its abstract socket, so no lock file can remain.
    for uid in range(FIRST_UID, FIRST_UID + N_UIDS):
        lock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            lock.bind(f"\0compilarium-sandbox-{uid}")
        except OSError:
            lock.close()
            continue
        return uid, lock
    raise SandboxError(f"{N_UIDS} sandboxes run already", "wait for one of them to end")


def lend(path: str) -> None:
    """Let root's sandboxes read a file, or a folder with everything below it.

    Files that other users may read are not changed; links are not followed. A lent file gets the
    group of these sandboxes, so no other user of the machine can read it. Errors: OSError.
    """
    if os.geteuid() != 0:
        return
    for each in (path, *_below(path)):
        facts = os.lstat(each)
        needed = _NEEDED.get(stat.S_IFMT(facts.st_mode), 0)
        is_readable = facts.st_mode & needed == needed
        if is_readable or (facts.st_gid == READERS and facts.st_mode >> 3 & needed == needed):
            continue
        os.chown(each, -1, READERS, follow_symlinks=False)
        os.chmod(each, stat.S_IMODE(facts.st_mode) | needed << 3)


_NEEDED = {stat.S_IFREG: stat.S_IROTH, stat.S_IFDIR: stat.S_IROTH | stat.S_IXOTH}
"""The permissions that others need, by the type of the file."""


def _below(path: str) -> Iterator[str]:
    for folder, folders, files in os.walk(path):
        yield from (os.path.join(folder, name) for name in (*folders, *files))
