"""The settings of the server."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from app.paths import site_folder
from app.wire.shapes.facts import Limits

MB = 1_000_000
DATABASE_VARIABLE = "COMPILARIUM_DATABASE_URL"


def default_data_folder() -> Path:
    """Return the folder for uploads and jobs: `var` in a clone, else the user's data folder."""
    root = site_folder("templates").parent
    if (root / "pyproject.toml").is_file():
        return root / "var"
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "compilarium"


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of an installation. The name of each field contains its unit."""

    data_folder: Path = field(default_factory=default_data_folder)

    upload_limit_bytes: int = 64 * MB
    upload_limit_s: float = 120.0
    uploads_kept_bytes: int = 2000 * MB
    request_limit_bytes: int = MB

    database_url: str = field(default_factory=lambda: os.environ.get(DATABASE_VARIABLE, ""))
    """An SQLAlchemy URL; "" for SQLite in the data folder."""
    links_limit: int = 1_000_000
    links_bytes: int = 4000 * MB
    """Maximum total size of the texts of all links."""
    links_bytes_per_day: int = 4 * MB
    """Maximum total size per day of the texts in new links from one client address."""
    linked_models_bytes: int = 8000 * MB
    links_per_minute: int = 30
    reports_per_minute: int = 20
    texts_per_minute: int = 600
    """Maximum number of checks of typed texts; the page requests at most 4 checks per second."""

    n_workers: int = 2
    queue_limit: int = 200
    queued_per_client: int = 20
    running_per_client: int = 2
    supervisor: Literal["inside", "outside"] = "inside"
    """Whether jobs run in threads of this process, or in processes of their own."""
    lease_s: float = 15.0
    """The jobs of a supervisor that is silent for this long are run again."""
    stop_grace_s: float = 3.0
    """Time in which a stopping supervisor lets jobs finish before they return to the queue."""
    job_limit_s: float = 60.0
    memory_limit_bytes: int = 4000 * MB
    text_limit_s: float = 3.0
    """Time limit for checking a written text."""
    output_limit_bytes: int = 256 * MB
    n_jobs_kept: int = 100
    worker_module: str = "app.jobs.fork_server_process"

    drawn_nodes_limit: int = 100
    """Groups are initially opened up to this number of boxes; larger drawings are very long."""
    heartbeat_s: float = 3.0
    """Interval of comments in a silent event stream; a closed connection is noticed by the second
    comment."""
    abandoned_after_s: float = 20.0
    """A job is cancelled this long after all of its clients have closed their event streams."""
    stream_limit_s: float = 60.0
    n_streams: int = 32

    trusted_hosts: tuple[str, ...] | None = None
    """Host names accepted in requests, as a guard against DNS rebinding; None accepts any name."""

    @staticmethod
    def of(config: Settings | Mapping[str, Any] | None) -> Settings:
        """Build settings for `create_app`. Errors: TypeError for an unknown name."""
        if isinstance(config, Settings):
            return config
        return replace(Settings(), **dict(config or {}))

    def limits(self) -> Limits:
        """Return the limits relevant to users, for the page."""
        return {
            "upload_limit_bytes": self.upload_limit_bytes,
            "job_limit_s": self.job_limit_s,
            "memory_limit_bytes": self.memory_limit_bytes,
            "output_limit_bytes": self.output_limit_bytes,
            "queue_limit": self.queue_limit,
            "n_workers": self.n_workers,
            "drawn_nodes_limit": self.drawn_nodes_limit,
        }
