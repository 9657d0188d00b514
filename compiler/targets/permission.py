"""Permission to use matrix tile registers, which a process must request from the system."""

from __future__ import annotations

import ctypes
import platform
import sys

_ARCH_PRCTL = 158
_ARCH_REQ_XCOMP_PERM = 0x1023
_XFEATURE_XTILEDATA = 18


def may_use_tiles() -> bool:
    """Request matrix tiles for this process and its new threads; return whether this succeeds.

    Linux grants the request unless a signal stack is too small to save the tiles. On other
    operating systems, tiles are never requested, because no request is known.
    Source: Documentation/arch/x86/xstate.rst of Linux.
    """
    if not sys.platform.startswith("linux") or platform.machine() != "x86_64":
        return False
    try:
        call = ctypes.CDLL(None).syscall
    except (OSError, AttributeError):
        return False
    call.restype = ctypes.c_long
    numbers = (_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _XFEATURE_XTILEDATA)
    return call(*map(ctypes.c_long, numbers)) == 0
