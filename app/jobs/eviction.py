"""The folders of finished jobs that may be removed, and the data that unfinished jobs need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from app.jobs.records import is_id, is_unfinished, request_in
from app.quotas import Item, tree_bytes


def uses(request: Mapping[str, Any]) -> tuple[set[str], set[str]]:
    """Return the ids of the jobs and of the uploads that a request names."""
    jobs = {value for value in request.values() if isinstance(value, str) and is_id(value)}
    model = request.get("model")
    upload = model.get("upload") if isinstance(model, dict) else None
    return jobs, {upload} if isinstance(upload, str) else set()


class Evictions:
    """The folders of jobs on disk; the sizes of finished jobs are measured once.

    The folders may include jobs of other servers with the same data folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._sizes: dict[str, tuple[float, int]] = {}

    def needed(self, unfinished: Mapping[str, Mapping[str, Any]]) -> tuple[set[str], set[str]]:
        """Return the ids of all jobs and uploads that unfinished jobs need, with these jobs.

        `unfinished` has the requests of this server's unfinished jobs, by id. A job that examines
        another job needs this job, and its upload.
        """
        jobs, uploads = set(unfinished), set[str]()
        pending = list(unfinished.items())
        pending += [(p.name, {}) for p in self._folders() if is_unfinished(p)]
        while pending:
            job_id, request = pending.pop()
            jobs.add(job_id)
            more, files = uses(request or request_in(self.folder / job_id))
            uploads |= files
            pending += [(each, {}) for each in more - jobs]
            jobs |= more
        return jobs, uploads

    def items(self, needed: set[str]) -> list[Item]:
        """Return the stored jobs, except those that are needed, which have no quota."""
        return [Item(p, *self._facts(p)) for p in self._folders() if p.name not in needed]

    def _folders(self) -> Iterator[Path]:
        folders = self.folder.iterdir() if self.folder.is_dir() else ()
        return (path for path in folders if is_id(path.name))

    def _facts(self, path: Path) -> tuple[float, int]:
        try:
            changed_s = path.stat().st_mtime
        except OSError:  # removed by another server
            return 0.0, 0
        known = self._sizes.get(path.name)
        if known is None or known[0] != changed_s:
            self._sizes[path.name] = known = (changed_s, tree_bytes(path))
        return known
