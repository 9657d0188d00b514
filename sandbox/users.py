"""A user for each sandbox of root, so that strangers' code is never root, not even inside."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Generator

from sandbox.result import SandboxError

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
