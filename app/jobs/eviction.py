"""The stored jobs that may be evicted, and the jobs and uploads that unfinished jobs need."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.jobs.records import ids_in, is_id, is_unfinished, request_in
from app.quotas import Item, tree_bytes
from app.uploads import uploads_in


@dataclass(frozen=True, slots=True)
class Needed:
    """The ids of unfinished jobs, and of all jobs and uploads that their requests name."""

    jobs: set[str] = field(default_factory=set)
    uploads: set[str] = field(default_factory=set)


class StoredJobs:
    """The folders of jobs, including those of other servers with the same data folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._facts: dict[str, tuple[float, int]] = {}
        """For each job the time of the last change of its folder, and its size at that time."""

    def needed(self, unfinished: Mapping[str, Mapping[str, Any]]) -> Needed:
        """Return what unfinished jobs need, also through the jobs that they examine.

        `unfinished` has the requests of this server's unfinished jobs, by id.
        """
        needed = Needed()
        pending = dict(unfinished)
        pending |= {p.name: request_in(p) for p in self._folders() if is_unfinished(p)}
        while pending:
            job_id, request = pending.popitem()
            needed.jobs.add(job_id)
            text = json.dumps(request)
            needed.uploads.update(uploads_in(text))
            examined = ids_in(text) - needed.jobs - pending.keys()
            pending |= {each: request_in(self.folder / each) for each in examined}
        return needed

    def items(self, needed: Needed) -> list[Item]:
        """Return the stored jobs that nothing needs; only these count for the quota of jobs."""
        return [
            Item(path, *self._measured(path))
            for path in self._folders()
            if path.name not in needed.jobs
        ]

    def _folders(self) -> Iterator[Path]:
        folders = self.folder.iterdir() if self.folder.is_dir() else ()
        return (path for path in folders if is_id(path.name))

    def _measured(self, path: Path) -> tuple[float, int]:
        try:
            changed_s = path.stat().st_mtime
        except OSError:  # removed by another server
            return 0.0, 0
        known = self._facts.get(path.name)
        if known is None or known[0] != changed_s:
            self._facts[path.name] = known = (changed_s, tree_bytes(path))
        return known
