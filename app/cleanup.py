"""Removal of stored data beyond its quota: after each upload and job, and once per hour.

`KINDS` has one declaration per kind of data. quotas.py has their limits, from the settings. No
clean-up removes items that a link pins or that an unfinished job uses.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from flask import Flask

from app.config import Settings
from app.disk import full_disk
from app.jobs.queue import JobQueue
from app.jobs.stored_results import prune_copies
from app.quotas import Item, Quota, excess, quotas
from app.store.links import LinkStore
from app.uploads import UploadStore, uploads_in

log = logging.getLogger("compilarium.cleanup")

EVERY_S = 3600.0
"""Interval in seconds between two clean-ups of all kinds."""

_LOG_IN_USE_S = 3600.0
"""A log that was written within this time may belong to a running job."""


@dataclass(frozen=True, slots=True)
class Stores:
    """The stored data of an application."""

    settings: Settings
    uploads: UploadStore
    jobs: JobQueue
    links: LinkStore

    @staticmethod
    def of(app: Flask) -> Stores:
        """Return the stores of an application."""
        return Stores(
            cast(Settings, app.config["SETTINGS"]),
            cast(UploadStore, app.extensions["uploads"]),
            cast(JobQueue, app.extensions["jobs"]),
            cast(LinkStore, app.extensions["links"]),
        )


def _links(stores: Stores, quota: Quota) -> int:
    """Remove old links, and the pins of uploads that no link uses any more."""
    database = stores.links.database
    if not database.exists():
        return 0
    n = stores.links.expire(time.time() - quota.age_s) if quota.age_s is not None else 0
    if stores.uploads.has_pins():
        linked = {each for text in stores.links.texts() for each in uploads_in(text)}
        stores.uploads.unpin(linked)
    return n


def _jobs(stores: Stores, quota: Quota) -> int:
    return stores.jobs.prune()


def _uploads(stores: Stores, quota: Quota) -> int:
    return stores.uploads.prune()


def _copies(stores: Stores, quota: Quota) -> int:
    """Remove copies of blobs in a network blob store."""
    if stores.settings.has_folder:
        return 0
    return prune_copies(stores.settings.stored_folder, stores.settings.copies_kept_bytes)


def _logs(stores: Stores, quota: Quota) -> int:
    """Remove old logs of child processes; their names are reused, so they are few."""
    now_s = time.time()
    gone = excess(_log_items(stores.jobs.runner.logs, now_s), quota, now_s)
    for item in gone:
        Path(item.path).unlink(missing_ok=True)
    return len(gone)


def _log_items(folder: Path, now_s: float) -> list[Item]:
    items: list[Item] = []
    for path in folder.glob("*.txt"):
        try:
            facts = path.stat()
        except OSError:  # removed meanwhile
            continue
        is_recent = now_s - facts.st_mtime < _LOG_IN_USE_S
        items.append(Item(path, facts.st_mtime, facts.st_size, is_recent))
    return items


# Links come before uploads, because an upload whose links have expired is no longer pinned.
KINDS: Mapping[str, Callable[[Stores, Quota], int]] = {
    "links": _links,
    "jobs": _jobs,
    "uploads": _uploads,
    "copies": _copies,
    "logs": _logs,
}
"""The function that applies the quota of each kind, and returns the number of removed items."""


def clean(stores: Stores) -> dict[str, int]:
    """Apply all quotas, and return the number of removed items of each kind.

    If the clean-up of a kind fails, for instance because the database is locked, it is repeated at
    the next call.
    """
    removed: dict[str, int] = {}
    for kind, apply in KINDS.items():
        try:
            removed[kind] = apply(stores, quotas(stores.settings)[kind])
        except Exception as e:
            removed[kind] = 0
            # The text of an error of the database may contain what users stored.
            log.warning("%s were not cleaned up: %s", kind, full_disk(e) or type(e).__name__)
    if any(removed.values()):
        log.info("removed beyond the quotas: %s", removed)
    return removed


class Cleanup:
    """A thread that applies all quotas at its start and every hour, until it is stopped."""

    def __init__(self, app: Flask, every_s: float = EVERY_S) -> None:
        self._stores = Stores.of(app)
        self._every_s = every_s
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="cleanup", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread, and wait for the end of a clean-up."""
        self._stopped.set()
        self._thread.join(timeout=10.0)

    def _run(self) -> None:
        while True:
            clean(self._stores)
            if self._stopped.wait(self._every_s):
                return
