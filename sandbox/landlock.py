"""Landlock: a second boundary around files, TCP and signals, if the kernel has it.

The kernel applies these rules to a process even if an error in the mount namespace let it out.
The launchers inside a sandbox import this module, so it imports little.
"""

from __future__ import annotations

import os
import struct

from sandbox import kernel

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_QUERY_VERSION = 1
_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_BLOCK, _TRUNCATE = 1 << 6, 1 << 11, 1 << 14

# The number of file rights that each version of the interface knows.
_N_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_TCP_SINCE, _TCP = 4, 0b11
_SCOPES_SINCE, _SCOPES = 6, 0b11
"""The scopes keep abstract sockets and signals inside."""

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full")


def version() -> int:
    """Return the version of the kernel's Landlock interface, 0 if there is none."""
    try:
        return kernel.syscall(_CREATE_RULESET, None, 0, _QUERY_VERSION)
    except OSError:
        return 0


def restrict(writable: tuple[str, ...], known: int | None = None) -> None:
    """Allow this process to read below /, and to write below `writable` and to null devices.

    Without Landlock, the function does nothing. Errors: OSError.
    """
    found = version() if known is None else known
    if not found:
        return
    everything = (1 << _N_FILE_RIGHTS[min(found, max(_N_FILE_RIGHTS))]) - 1
    tcp = _TCP if found >= _TCP_SINCE else 0
    scopes = _SCOPES if found >= _SCOPES_SINCE else 0
    words = [everything, tcp, scopes]
    n_words = 3 if scopes else 2 if tcp else 1
    attributes = struct.pack(f"={n_words}Q", *words[:n_words])
    ruleset = kernel.syscall(_CREATE_RULESET, attributes, len(attributes), 0)
    try:
        _allow(ruleset, "/", _EXECUTE | _READ_FILE | _READ_DIR)
        for path in writable:
            _allow(ruleset, path, everything & ~(_MAKE_CHAR | _MAKE_BLOCK))
        for path in _DEVICES:
            _allow(ruleset, path, (_WRITE_FILE | _TRUNCATE) & everything)
        kernel.syscall(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        kernel.syscall(_ADD_RULE, ruleset, _BENEATH, struct.pack("=Qi", rights, place), 0)
    finally:
        os.close(place)
