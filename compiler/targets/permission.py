"""Asking the system for what a process may not use unasked: the registers of matrix tiles."""

from __future__ import annotations

import ctypes
import platform
import sys

_ARCH_PRCTL = 158
_ARCH_REQ_XCOMP_PERM = 0x1023
_XFEATURE_XTILEDATA = 18


def may_use_tiles() -> bool:
    """Ask for matrix tiles, for this process and the threads that it starts; whether they are ours.

    Linux gives them to who asks, unless a signal stack is too small to save them on. What other
    systems want is not known here.
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
