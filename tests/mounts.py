"""Small disks, and folders that nobody can write: for root, whom permissions do not concern."""

from __future__ import annotations

import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def mounted(folder: Path, limit: str) -> Generator[Path]:
    """Mount a disk in memory with a limit, such as `size=1m`, at a new folder."""
    folder.mkdir()
    _run("mount", "-t", "tmpfs", "-o", limit, "tmpfs", str(folder))
    try:
        yield folder
    finally:
        _run("umount", "-l", str(folder))


@contextmanager
def unwritable(folder: Path) -> Generator[None]:
    """Let nobody write in a folder. Files that are open remain writable."""
    _run("mount", "--bind", str(folder), str(folder))
    try:
        _run("mount", "-o", "remount,bind,ro", str(folder))
        yield
    finally:
        _run("umount", "-l", str(folder))


def _run(*command: str) -> None:
    subprocess.run(command, check=True, timeout=60)
