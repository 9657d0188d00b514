"""Limits of a sandbox."""

from __future__ import annotations

import math
import resource
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

_BYTES_OF_LOCKED_MEMORY = 64 * 1024
_CPU_SECONDS_AFTER_THE_SIGNAL = 1


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of everything that runs in one sandbox. Units: seconds, bytes, and counts.

    `seconds` is wall-clock time, and `cpu_seconds` processor time of each process. `memory_bytes`
    bounds the address space of each process, and the memory of all processes together.
    `scratch_bytes` bounds the folder /box and each file in it, and `n_entries` the number of its
    files. `output_bytes` bounds the standard output and the standard error, each. `n_files` bounds
    the open files of a process.
    """

    seconds: float = 10.0
    cpu_seconds: float = 10.0
    memory_bytes: int = 2 << 30
    scratch_bytes: int = 32 << 20
    output_bytes: int = 1 << 20
    n_processes: int = 64
    n_files: int = 128
    n_entries: int = 10_000

    def beyond_this_process(self) -> Self:
        """Return the limits, plus the address space that a child forked now would inherit.

        For trials: the added bytes also raise the limit on the memory of all processes together.
        Unit: bytes.
        """
        n_pages = int(Path("/proc/self/statm").read_text().split()[0])
        n_bytes = n_pages * resource.getpagesize()
        return replace(self, memory_bytes=self.memory_bytes + n_bytes)

    def resource_limits(self) -> Mapping[int, tuple[int, int]]:
        """Return soft and hard limits of each process, by the number of the resource."""
        cpu = max(1, math.ceil(self.cpu_seconds))
        return {
            resource.RLIMIT_AS: (self.memory_bytes, self.memory_bytes),
            # The soft limit sends SIGXCPU, which tells this limit from other ends.
            resource.RLIMIT_CPU: (cpu, cpu + _CPU_SECONDS_AFTER_THE_SIGNAL),
            resource.RLIMIT_FSIZE: (self.scratch_bytes, self.scratch_bytes),
            resource.RLIMIT_NPROC: (self.n_processes, self.n_processes),
            resource.RLIMIT_NOFILE: (self.n_files, self.n_files),
            resource.RLIMIT_CORE: (0, 0),
            resource.RLIMIT_MSGQUEUE: (0, 0),
            resource.RLIMIT_MEMLOCK: (_BYTES_OF_LOCKED_MEMORY, _BYTES_OF_LOCKED_MEMORY),
        }
