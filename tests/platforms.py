"""Facts about this machine from the system and the processor, independent of the compiler.

Tests are skipped by these facts alone. So if the compiler misjudges a machine, its tests fail
instead of being skipped.
"""

from __future__ import annotations

import os
import platform
import sys

import pytest

IS_LINUX = sys.platform == "linux"
OWN_THREADS = IS_LINUX and platform.machine() in {"x86_64", "aarch64"}
"""Whether Compilarium has its own threads on this machine."""

needs_own_threads = pytest.mark.skipif(not OWN_THREADS, reason="threads come from OpenMP here")
needs_fork = pytest.mark.skipif(not IS_LINUX, reason="elsewhere processes may not be forked")
needs_file_locks = pytest.mark.skipif(sys.platform == "win32", reason="locks are of POSIX systems")
needs_affinity = pytest.mark.skipif(not IS_LINUX, reason="elsewhere processors cannot be chosen")
needs_user_ids = pytest.mark.skipif(os.name != "posix", reason="users have no numbers here")


def may_mount() -> bool:
    """Return whether this process has the capability CAP_SYS_ADMIN of Linux."""
    if not IS_LINUX:
        return False
    with open("/proc/self/status", encoding="ascii", errors="replace") as status:
        mask = next((x.split()[1] for x in status if x.startswith("CapEff:")), "0")
    return bool(int(mask, 16) >> 21 & 1)


needs_mounts = pytest.mark.skipif(not may_mount(), reason="only root may mount a small disk")
needs_root = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0, reason="only root may give files to another user"
)
