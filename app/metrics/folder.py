"""The folder in which the workers of a server count: prometheus_client maps its files.

The variable of the environment must be set before prometheus_client is imported, so this module
does not import it. A replaced worker continues with the counts of its predecessor.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
COUNTS = "metrics"
"""The folder in the data folder."""
_COUNTS_BYTES = 256 * 1024
"""The counts of one kind: more than a thousand combinations of route, method and status."""

log = logging.getLogger("compilarium.web")


@contextmanager
def shared_counts(data_folder: Path) -> Generator[None]:
    """Let this process and its children count in a common folder, until the block ends."""
    parent = data_folder / COUNTS
    parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    for old in parent.iterdir():
        if not _is_alive(old.name):  # of a server that was killed
            shutil.rmtree(old, ignore_errors=True)
    folder = parent / str(os.getpid())
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    os.environ[VARIABLE] = str(folder.resolve())
    owner = os.getpid()
    try:
        yield
    finally:
        if os.getpid() == owner:
            del os.environ[VARIABLE]
            shutil.rmtree(folder, ignore_errors=True)


def allocate_counts() -> None:
    """Reserve space for the counts of this process, before it counts.

    The kernel kills a process that writes to a mapped file for which the disk has no space.
    """
    folder = os.environ.get(VARIABLE)
    if not folder:
        return
    try:
        for kind in ("counter", "histogram"):
            with open(f"{folder}/{kind}_{os.getpid()}.db", "ab") as file:
                os.posix_fallocate(file.fileno(), 0, _COUNTS_BYTES)
    except (OSError, AttributeError) as e:
        log.warning("no space could be reserved for counts: %s", e)


def forget_worker(pid: int) -> None:
    """Remove the current values of a worker that has ended; its counts remain."""
    from prometheus_client import multiprocess

    multiprocess.mark_process_dead(pid)


def _is_alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except PermissionError:
        return True
    except (OSError, ValueError, OverflowError):
        return False
    return True
