"""The OpenMP runtime that shared loops run on: found on this system, or in an installed package.

Generated code calls it by name, so nothing of it is needed to make code, only to run it. Which one
is used is decided once in a process: several pools of threads would get in each other's way.
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
"""`omp_pause_hard`: let go of all threads; the next region makes new ones."""


@dataclass(frozen=True)
class Runtime:
    """A loaded OpenMP runtime: where it came from, and the functions that code may call."""

    path: str
    forking: Forking
    addresses: dict[str, int]
    library: ctypes.CDLL

    def let_go(self) -> None:
        """End the threads of this one, which waits: a child process would not have them.

        libgomp does not know when a process forks, and waits in the child for threads that are
        not there; with none before the fork, parent and child make their own when they need them.
        """
        pause = getattr(self.library, "omp_pause_resource_all", None)
        if pause is not None:
            pause(_PAUSE_HARD)


@cache
def runtime() -> Runtime | None:
    """The OpenMP runtime of this process; None when there is none."""
    return first_loaded([*system_names(), *map(str, bundled())])


def first_loaded(candidates: Sequence[str]) -> Runtime | None:
    """The first library that loads and has what is needed."""
    for name in candidates:
        found = _loaded(name)
        if found is not None:
            if hasattr(os, "register_at_fork"):
                os.register_at_fork(before=found.let_go)
            return found
    return None


_SPINS = "1000"
"""How often libgomp looks whether there is work before it sleeps: some 10 us.

Its own 300000 make a thread that waits for one that has no processor hold the other's place for
milliseconds, in every region, and 20000 still do; between two regions of a run there are
microseconds.
"""


@contextmanager
def _short_spinning() -> Generator[None]:
    """What libgomp reads when it is loaded; whoever has set something of the kind is obeyed."""
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
    assert found is not None, f"{function} is at no address"
    return found


def system_names(platform: str = sys.platform) -> list[str]:
    """What the runtimes of GNU, LLVM and Intel are called where the system looks for libraries."""
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
"""Where packages carry a runtime of their own, as scikit-learn, xgboost and torch do."""


def bundled(roots: Sequence[str] | None = None) -> Iterator[Path]:
    """Runtimes in installed packages, and of the package intel-openmp."""
    for root in map(Path, sys.path if roots is None else roots):
        if root.name in ("site-packages", "dist-packages"):
            for pattern in _BUNDLED:
                yield from sorted(root.glob(pattern))
    prefix = Path(sys.prefix)
    for place in ("lib/libiomp5.so", "lib/libiomp5.dylib", "Library/bin/libiomp5md.dll"):
        if (prefix / place).exists():
            yield prefix / place


HOW_TO_GET = "apt-get install libgomp1, brew install libomp, or pip install intel-openmp"
"""How a system without an OpenMP runtime gets one."""
