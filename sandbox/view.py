"""The files that a sandbox shows: the system's programs, this Python, and given inputs.

All of them are read-only. No configuration, no home folder and no data of the host is visible.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

PROGRAMS = "/usr"
_LINKED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
PACKAGE = "/sandbox"
"""The place of this package inside."""

ENVIRONMENT: Mapping[str, str] = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/box",
    "PWD": "/box",
    "TMPDIR": "/box",
    "LANG": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
    # Threads of BLAS would count as processes, and results would depend on the machine.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}
"""The whole environment inside, unless the inputs add to it."""


class Bind(NamedTuple):
    """A file or folder of the host at its place inside."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Inputs:
    """The inputs of a run, read-only inside.

    `files` are contents by path: they are copied, so the host's files need not be readable.
    `folders` are the host's files and folders by path inside. `environment` adds variables.
    """

    files: Mapping[str, bytes] = field(default_factory=dict)
    folders: Mapping[str, Path] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)

    def binds(self) -> list[Bind]:
        """Return the folders as binds."""
        return [Bind(os.path.realpath(path), target) for target, path in self.folders.items()]


@cache
def system_links() -> Mapping[str, str]:
    """Return the links at the root of this system, for instance /bin to usr/bin."""
    paths = [f"/{name}" for name in _LINKED]
    return {path: os.readlink(path) for path in paths if os.path.islink(path)}


@cache
def system_binds() -> tuple[Bind, ...]:
    """Return the programs and libraries of the system, and this Python with its packages."""
    separate = [f"/{name}" for name in _LINKED]
    system = [PROGRAMS, *(p for p in separate if os.path.isdir(p) and not os.path.islink(p))]
    binds = [Bind(path, path) for path in system]
    binds += [
        bind for bind in _interpreter() if not any(_is_below(bind.target, top) for top in system)
    ]
    return (*binds, Bind(os.path.dirname(os.path.realpath(__file__)), PACKAGE))


def _interpreter() -> Iterator[Bind]:
    prefixes = {sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix}
    for target in sorted(os.path.abspath(prefix) for prefix in prefixes):
        yield Bind(os.path.realpath(target), target)
    for target in sorted(_hops(sys.executable)):
        if not any(_is_below(target, os.path.abspath(prefix)) for prefix in prefixes):
            yield Bind(os.path.realpath(target), target)


def _hops(path: str) -> Iterator[str]:
    """Yield the files that a chain of links to an executable visits."""
    while True:
        path = os.path.abspath(path)
        yield path
        if not os.path.islink(path):
            return
        path = os.path.join(os.path.dirname(path), os.readlink(path))


def _is_below(path: str, folder: str) -> bool:
    return os.path.commonpath([path, folder]) == folder
