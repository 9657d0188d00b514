"""The last step into a sandbox, in the process that will run untrusted code.

Both ways in end here: the launcher of a new process, and a forked child that joins. The launchers
inside a sandbox import this module, so it imports little.
"""

from __future__ import annotations

import os
import resource
import sys

from sandbox import kernel, landlock

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing and collections.abc takes milliseconds
    from collections.abc import Iterable, Mapping

SCRATCH, SHARED_MEMORY = "/box", "/dev/shm"
WRITABLE = (SCRATCH, SHARED_MEMORY)
"""The folders that code in the sandbox may write; both are small and in memory."""

_LARGEST_DESCRIPTOR = 1 << 20


def seal(limits: Mapping[int, tuple[int, int]], landlock_version: int, program: bytes) -> None:
    """Give up all privileges, and set the limits; nothing can undo these steps.

    `limits` has soft and hard limits by resource. An empty `program` means that the filter of
    system calls is installed already. Errors: OSError.
    """
    os.chdir(SCRATCH)
    os.umask(0o077)
    kernel.drop_capabilities()
    kernel.set_no_new_privileges()
    landlock.restrict(WRITABLE, landlock_version)
    # Code inside may write the memory of the other processes, so these must not have higher limits.
    for pid in os.listdir("/proc"):
        if pid.isdigit() and int(pid) != os.getpid():
            limit(int(pid), limits)
    limit(0, limits)
    if program:
        kernel.filter_system_calls(program)


def limit(pid: int, limits: Mapping[int, tuple[int, int]]) -> None:
    """Set the limits of a process, 0 for this process; they never rise. Errors: OSError."""
    for which, (soft, hard) in limits.items():
        _, most = resource.prlimit(pid, which)
        if most != resource.RLIM_INFINITY:
            soft, hard = min(soft, most), min(hard, most)
        resource.prlimit(pid, which, (soft, hard))


def close_others(keep: Iterable[int]) -> None:
    """Close all open files except these."""
    start = 0
    for kept in sorted(keep):
        if start < kept:  # an empty range that starts with 0 would be all descriptors
            os.closerange(start, kept)
        start = kept + 1
    os.closerange(start, _LARGEST_DESCRIPTOR)


def replace_environment(environment: Mapping[str, str]) -> None:
    """Replace the environment, and erase the one that the process was started with.

    Otherwise /proc/self/environ would still show the variables of the parent, and temporary files
    would belong to a folder that does not exist inside.
    """
    os.environ.clear()
    os.environ.update(environment)
    if "tempfile" in sys.modules:
        import tempfile

        tempfile.tempdir = None  # the module keeps what it once read
    with open("/proc/self/stat", "rb") as stat:
        # Fields 50 and 51, counted after the name in parentheses, which may contain spaces.
        fields = stat.read().rpartition(b")")[2].split()
    start, end = int(fields[47]), int(fields[48])
    if 0 < start < end:
        kernel.clear_memory(start, end - start)
