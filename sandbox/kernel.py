"""System calls that Python does not offer, through ctypes.

The launchers inside a sandbox import this module, so it imports little.
"""

from __future__ import annotations

import ctypes
import os
import select

NEW_NAMESPACES = {
    "time": 0x80,
    "mount": 0x20000,
    "cgroup": 0x2000000,
    "uts": 0x4000000,
    "ipc": 0x8000000,
    "user": 0x10000000,
    "pid": 0x20000000,
    "net": 0x40000000,
}
"""The flags of clone, unshare and setns, by the kind of namespace."""

MS_RDONLY, MS_BIND, MS_REC, MS_PRIVATE = 0x1, 0x1000, 0x4000, 0x40000
MS_NOSUID, MS_NODEV = 0x2, 0x4

_PR_SET_PDEATHSIG = 1
_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2
_PR_CAPBSET_READ, _PR_CAPBSET_DROP = 23, 24
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
_CAPABILITY_VERSION_3 = 0x20080522
_BPF_INSTRUCTION_BYTES = 8

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def syscall(number: int, *arguments: int | bytes | ctypes.Array[ctypes.c_char] | None) -> int:
    """Make a system call by number, and return its result. Errors: OSError."""
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return _checked(_libc.syscall(ctypes.c_long(number), *words), f"system call {number}")


def prctl(option: int, value: int = 0, third: int = 0) -> int:
    """Call prctl. Errors: OSError."""
    words = [ctypes.c_ulong(w) for w in (value, third, 0, 0)]
    return _checked(_libc.prctl(option, *words), f"prctl {option}")


def setns(descriptor: int, kinds: int) -> None:
    """Join the namespaces `kinds` (flags) of the process of a pidfd. Errors: OSError."""
    _checked(_libc.setns(descriptor, kinds), "setns")


def unshare(kinds: int) -> None:
    """Move this process into new namespaces. Errors: OSError."""
    _checked(_libc.unshare(kinds), "unshare")


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """Mount a file system, or bind a path. Errors: OSError."""
    texts = [os.fsencode(t) or None for t in (source, target, kind)]
    done = _libc.mount(*texts, ctypes.c_ulong(flags), os.fsencode(data) or None)
    _checked(done, f"mount on {target}")


def drop_capabilities() -> None:
    """Give up all capabilities, also those that a program with file capabilities would add."""
    prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    number = 0
    while _libc.prctl(_PR_CAPBSET_READ, ctypes.c_ulong(number), 0, 0, 0) >= 0:
        if _libc.prctl(_PR_CAPBSET_READ, ctypes.c_ulong(number), 0, 0, 0) == 1:
            prctl(_PR_CAPBSET_DROP, number)
        number += 1
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _checked(_libc.capset(header, nothing), "capset")


def set_no_new_privileges() -> None:
    """Prevent programs with the set-user-ID bit or file capabilities from gaining privileges."""
    prctl(_PR_SET_NO_NEW_PRIVS, 1)


def die_with_parent(signal_number: int, parent_end: int) -> None:
    """Send this process a signal when the thread that created it ends.

    `parent_end` is a pidfd of the parent, which may have ended before: then this process ends.
    """
    prctl(_PR_SET_PDEATHSIG, signal_number)
    parent = select.poll()
    parent.register(parent_end)
    if parent.poll(0):
        os.kill(os.getpid(), signal_number)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def filter_system_calls(program: bytes) -> None:
    """Install a classic BPF program that decides about all later system calls of this thread."""
    instructions = ctypes.create_string_buffer(program, len(program))
    described = _Program(
        len(program) // _BPF_INSTRUCTION_BYTES, ctypes.cast(instructions, ctypes.c_void_p)
    )
    prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(described))


def restore_signals(numbers: tuple[int, ...]) -> None:
    """Restore the default effect of these signals; a started program would inherit ignored
    signals."""
    for number in numbers:
        _libc.signal(number, None)


def clear_memory(address: int, n_bytes: int) -> None:
    """Overwrite memory of this process with zeros."""
    ctypes.memset(address, 0, n_bytes)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
    return result
