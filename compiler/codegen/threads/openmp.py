"""The OpenMP runtime for parallel loops, from the system or an installed package.

Generated code calls the runtime by name, so only execution needs the runtime, not compilation. A
process uses one runtime: several thread pools would compete for the processors.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from compiler.dataclass import dataclass
from compiler.targets.options import Forking

_GOMP = ("GOMP_parallel",)
_KMPC = ("__kmpc_global_thread_num", "__kmpc_push_num_threads", "__kmpc_fork_call")
_QUERIES = ("omp_get_thread_num", "omp_get_num_threads")

_PAUSE_HARD = 2
"""`omp_pause_hard`: end all threads; the next region starts new threads."""


@dataclass(frozen=True)
class Runtime:
    """A loaded OpenMP runtime: its path, and the functions that generated code calls."""

    path: str
    forking: Forking
    addresses: dict[str, int]
    library: ctypes.CDLL

    def let_go(self) -> None:
        """End the runtime's idle threads before a fork, because a fork does not copy threads.

        libgomp does not handle forks: the child would wait for threads that do not exist. After the
        fork, parent and child start new threads when needed.
        """
        pause = getattr(self.library, "omp_pause_resource_all", None)
        if pause is not None:
            pause(_PAUSE_HARD)


@cache
def runtime() -> Runtime | None:
    """Return the OpenMP runtime of this process, or None."""
    return first_loaded([*system_names(), *map(str, bundled())])


def first_loaded(candidates: Sequence[str]) -> Runtime | None:
    """Return the first library that loads and has all functions, or None."""
    for name in candidates:
        found = _loaded(name)
        if found is not None:
            if hasattr(os, "register_at_fork"):
                os.register_at_fork(before=found.let_go)
            return found
    return None


_SPINS = "1000"
"""The spin count of libgomp before a thread sleeps: about 10 us.

With the default of 300000 spins, a waiting thread keeps its processor for milliseconds in every
region. The other threads of the region may have been preempted and may need this processor. Even
20000 spins are too many. About 10 us suffice, since two regions of a run are only microseconds
apart.
"""


@contextmanager
def _short_spinning() -> Generator[None]:
    """Set the environment variables that libgomp reads at load time, unless already set."""
    names = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
    if any(name in os.environ for name in names):
        yield
        return
    os.environ[names[0]] = _SPINS
    try:
        yield
    finally:
        del os.environ[names[0]]


def _loaded(name: str) -> Runtime | None:
    try:
        with _short_spinning():
            library = ctypes.CDLL(name)
    except OSError:
        return None
    kinds: tuple[tuple[Forking, tuple[str, ...]], ...] = (("gomp", _GOMP), ("kmpc", _KMPC))
    for forking, entries in kinds:
        try:
            addresses = {f: _address(library, f) for f in (*entries, *_QUERIES)}
        except AttributeError:
            continue
        return Runtime(name, forking, addresses, library)
    return None


def _address(library: ctypes.CDLL, function: str) -> int:
    found = ctypes.cast(getattr(library, function), ctypes.c_void_p).value
    assert found is not None, f"{function} has no address"
    return found


def system_names(platform: str = sys.platform) -> list[str]:
    """Return the library names of the runtimes of GNU, LLVM and Intel."""
    if platform == "win32":
        return ["libomp140.x86_64.dll", "libiomp5md.dll", "libomp.dll", "libgomp-1.dll"]
    if platform == "darwin":
        places = ("", "/opt/homebrew/opt/libomp/lib/", "/usr/local/opt/libomp/lib/")
        return [f"{place}libomp.dylib" for place in places] + ["libiomp5.dylib", "libgomp.1.dylib"]
    return ["libgomp.so.1", "libomp.so.5", "libomp.so", "libiomp5.so"]


_BUNDLED = (
    "*.libs/libgomp*.so*",
    "*/lib/libgomp*.so*",
    "*/.dylibs/libomp*.dylib",
    "*/lib/libomp*.dylib",
    "*.libs/libomp*.dll",
    "*/lib/libiomp5md.dll",
)
"""Paths of runtimes bundled with packages, such as scikit-learn, xgboost and torch."""


def bundled(roots: Sequence[str] | None = None) -> Iterator[Path]:
    """Yield the runtimes bundled with installed packages, and the runtime of intel-openmp."""
    for root in map(Path, sys.path if roots is None else roots):
        if root.name in ("site-packages", "dist-packages"):
            for pattern in _BUNDLED:
                yield from sorted(root.glob(pattern))
    prefix = Path(sys.prefix)
    for place in ("lib/libiomp5.so", "lib/libiomp5.dylib", "Library/bin/libiomp5md.dll"):
        if (prefix / place).exists():
            yield prefix / place


HOW_TO_GET = "apt-get install libgomp1, brew install libomp, or pip install intel-openmp"
"""Installation hints for an OpenMP runtime."""
