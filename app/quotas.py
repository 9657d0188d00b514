"""Quotas of stored data by size, number and age, and the choice of the items beyond them."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath

from app.config import Settings

DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Quota:
    """Limits of one kind of stored data; None is no limit. Age counts from the last use."""

    n_bytes: int | None = None
    n_items: int | None = None
    age_s: float | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """A stored piece of data: its file or folder, its last use in Unix seconds, and its size.

    Items in use are never removed, but count.
    """

    path: PurePath
    used_s: float
    n_bytes: int
    is_in_use: bool = False


def quotas(settings: Settings) -> Mapping[str, Quota]:
    """Return the quota of each kind of data that clean-ups may remove."""
    return {
        "links": Quota(age_s=_age(settings.links_kept_days)),
        "jobs": Quota(
            settings.jobs_kept_bytes, settings.n_jobs_kept, _age(settings.jobs_kept_days)
        ),
        "uploads": Quota(settings.uploads_kept_bytes, age_s=_age(settings.uploads_kept_days)),
        "copies": Quota(settings.copies_kept_bytes),
        "logs": Quota(settings.logs_kept_bytes, age_s=_age(settings.logs_kept_days)),
    }


def _age(days: float) -> float | None:
    return days * DAY_S if days else None


def excess(items: Iterable[Item], quota: Quota, now_s: float) -> list[Item]:
    """Return the items beyond the quota: the least recently used ones, and those that are too
    old."""
    removed: list[Item] = []
    n_bytes = n_items = 0
    for item in sorted(items, key=lambda i: (not i.is_in_use, -i.used_s, str(i.path))):
        is_old = quota.age_s is not None and now_s - item.used_s > quota.age_s
        n_bytes, n_items = n_bytes + item.n_bytes, n_items + 1
        is_large = quota.n_bytes is not None and n_bytes > quota.n_bytes
        is_surplus = quota.n_items is not None and n_items > quota.n_items
        if not item.is_in_use and (is_old or is_large or is_surplus):
            removed.append(item)
            n_bytes, n_items = n_bytes - item.n_bytes, n_items - 1
    return removed


class Growth:
    """Decides when to apply a quota, which scans all items: only after enough new data.

    Between two scans, the data exceed the quota by at most one part in `_LOOKS`, or one item.
    """

    def __init__(self, quota: Quota) -> None:
        self.quota = quota
        self._lock = threading.Lock()
        self._has_looked = False
        self._n_bytes = self._n_items = 0

    def is_much_with(self, n_bytes: int) -> bool:
        """Count a new item of this size; return whether a scan is due."""
        most_bytes, most_items = self.quota.n_bytes, self.quota.n_items
        with self._lock:
            self._n_bytes += n_bytes
            self._n_items += 1
            has_much = most_bytes is not None and self._n_bytes > most_bytes / _LOOKS
            has_many = most_items is not None and self._n_items > most_items // _LOOKS
            return has_much or has_many or not self._has_looked

    def reset(self) -> None:
        """Record the beginning of a scan of all items."""
        with self._lock:
            self._has_looked = True
            self._n_bytes = self._n_items = 0


_LOOKS = 50


def tree_bytes(folder: Path) -> int:
    """Return the total size of the files of a folder, at any depth."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(root, name)).st_size
            except OSError:  # removed meanwhile
                continue
    return total
