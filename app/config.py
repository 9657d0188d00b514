"""The settings of the server. configuration.py reads them from options, environment and file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from app.paths import site_folder
from app.store.blobs.remote import is_remote, public_url
from app.wire.shapes.facts import Limits
from compiler.machine.name import machine_name

MB = 1_000_000
Engine = Literal["local", "dask"]
LogFormat = Literal["auto", "text", "json"]


def default_data_folder() -> Path:
    """Return the folder for uploads and jobs: `var` in a clone, else the user's data folder."""
    root = site_folder("templates").parent
    if (root / "pyproject.toml").is_file():
        return root / "var"
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "compilarium"


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of an installation. The name of each field contains its unit.

    `compilarium serve --show-config` prints the text below each field.
    """

    host: str = "127.0.0.1"
    """Address that the server listens at."""
    port: int = 8000
    """Port that the server listens at; 0 selects a free port."""
    certificate: Path | None = None
    """File with the server's TLS certificate and its chain, as PEM; requires `key`."""
    key: Path | None = None
    """File with the private key of the certificate, as PEM."""
    insecure: bool = False
    """Whether the server may listen at an address of a network without TLS."""
    trusted_proxies: int = 0
    """Number of reverse proxies in front of the server. Their X-Forwarded headers are believed;
    with 0, all such headers are ignored."""
    trusted_hosts: tuple[str, ...] | None = None
    """Host names accepted in requests, as a guard against DNS rebinding. If unset, a server at a
    loopback address accepts only names of this machine; other servers accept any name."""
    n_threads: int = 256
    """Number of requests answered at a time; an open event stream occupies one of them."""
    head_limit_s: float = 20.0
    """Longest time in which the head of a request must arrive, as a protection against slow
    clients."""
    log_format: LogFormat = "auto"
    """Format of the log on standard error: `text`, or `json` without names or contents of models;
    `auto` selects `text` on a terminal."""
    log_requests: bool = False
    """Whether the log has a line for each request, with the template of its route."""
    metrics_token: str = ""
    """Token with which other machines may read /metrics; without it, only this machine may."""
    stop_limit_s: float = 20.0
    """Longest time that a stopping server waits for open requests, at most 25."""

    data_folder: Path = field(default_factory=default_data_folder)
    """Folder for uploads, results and the database."""
    database_url: str = ""
    """An SQLAlchemy URL; if empty, SQLite in the data folder."""
    blob_store: str = ""
    """Store of uploads and results for several machines: a shared folder, or an fsspec URL such as
    `s3://bucket/prefix`; if empty, the data folder."""
    copies_kept_bytes: int = 4000 * MB
    """Maximum total size of the copies of uploads and results on this machine, if `blob_store` is a
    URL."""
    machine_name: str = ""
    """Unique name of this machine; if empty, its host name."""

    lessons: str = ""
    """Folders of further lessons, separated as in PATH."""

    upload_limit_bytes: int = 64 * MB
    """Largest accepted model file."""
    upload_limit_s: float = 120.0
    """Longest time in which an upload must arrive."""
    uploads_kept_bytes: int = 2000 * MB
    """Total size of stored uploads; the least recently used are evicted. The capacity is always at
    least four uploads of the maximum size."""
    uploads_kept_days: float = 180.0
    """Days since the last use after which an upload is removed, unless a link uses it; 0 for
    never."""
    request_limit_bytes: int = MB
    """Largest accepted body of other requests."""

    links_limit: int = 1_000_000
    """Maximum number of short links."""
    links_bytes: int = 4000 * MB
    """Maximum total size of the texts of all links."""
    links_kept_days: float = 0.0
    """Days after which a link is removed; 0 for never."""
    links_bytes_per_day: int = 4 * MB
    """Maximum total size per day of the texts in new links from one address; 0 for no limit."""
    linked_models_bytes: int = 8000 * MB
    """Maximum total size of uploads that links use; these are never evicted."""

    uploads_per_minute: int = 300
    """Maximum number of uploads from one client per minute; 0 for no limit."""
    jobs_per_minute: int = 600
    """Maximum number of jobs that one client starts per minute; 0 for no limit."""
    links_per_minute: int = 30
    """Maximum number of new links from one client per minute; 0 for no limit."""
    reports_per_minute: int = 20
    """Maximum number of reports for one client per minute; 0 for no limit."""
    texts_per_minute: int = 600
    """Maximum number of checks of typed texts from one client; the page requests at most 4 checks
    per second. 0 for no limit."""
    sessions_per_address: int = 20
    """Number of clients behind one address that may each use their limits in full at the same
    time."""

    n_workers: int = 2
    """Number of jobs that run at a time."""
    queue_limit: int = 200
    """Maximum number of waiting jobs."""
    queued_per_client: int = 20
    """Maximum number of waiting jobs of one client."""
    running_per_client: int = 2
    """Maximum number of running jobs of one client."""
    supervisor: Literal["inside", "outside"] = "inside"
    """Location of jobs: `inside` the server, which then has a supervisor, or `outside`, only in
    processes of `compilarium work`."""
    engine: Engine = "local"
    """Executor of jobs: supervisors of this program (`local`), or the workers of a Dask cluster
    (`dask`)."""
    scheduler: str = ""
    """Address of the scheduler of the Dask cluster: `tls://HOST:PORT`, or `tcp://HOST:PORT` on this
    machine."""
    scheduler_authority: Path | None = None
    """File with the certificate of the authority of a `tls://` cluster, as PEM."""
    scheduler_certificate: Path | None = None
    """File with the certificate of this server for a `tls://` cluster, as PEM."""
    scheduler_key: Path | None = None
    """File with the private key of `scheduler_certificate`, as PEM."""
    insecure_scheduler: bool = False
    """Whether a scheduler without TLS may be at a private address of a network. Whoever reaches it
    can run programs on all machines of the cluster."""
    lease_s: float = 15.0
    """The jobs of a supervisor that is silent for this long are run again."""
    stop_grace_s: float = 3.0
    """Time in which a stopping supervisor lets jobs finish before they return to the queue."""
    job_limit_s: float = 60.0
    """Time limit of a job."""
    memory_limit_bytes: int = 4000 * MB
    """Memory limit of a job."""
    text_limit_s: float = 3.0
    """Time limit for checking a written text."""
    output_limit_bytes: int = 256 * MB
    """Maximum size of the stored result of a job."""
    n_jobs_kept: int = 5000
    """Number of finished jobs whose results are kept."""
    unsandboxed_local: bool = False
    """Whether the user's own models run without a sandbox if none can be built; local servers
    only."""
    jobs_kept_bytes: int = 8000 * MB
    """Maximum total size of the stored results of finished jobs."""
    jobs_kept_days: float = 90.0
    """Days after which a finished job is removed; 0 for never."""
    logs_kept_bytes: int = 100 * MB
    """Maximum total size of the logs of child processes."""
    logs_kept_days: float = 30.0
    """Days after which the log of a child process is removed; 0 for never."""
    worker_module: str = "app.jobs.fork_server_process"
    """Python module of the process that forks a child for each job."""

    drawn_nodes_limit: int = 100
    """Groups are initially opened up to this number of boxes; larger drawings are very long."""
    heartbeat_s: float = 3.0
    """Interval of comments in a silent event stream; a closed connection is noticed by the second
    comment."""
    abandoned_after_s: float = 20.0
    """A job is cancelled this long after all of its clients have closed their event streams."""
    stream_limit_s: float = 60.0
    """Longest duration of an event stream; the page then opens the next one."""
    n_streams: int = 160
    """Maximum number of open event streams: a reader has one or two, and each occupies a thread."""

    @staticmethod
    def of(config: Settings | Mapping[str, Any] | None) -> Settings:
        """Build settings for `create_app`. Errors: TypeError for an unknown name."""
        if isinstance(config, Settings):
            return config
        return replace(Settings(), **dict(config or {}))

    @property
    def stored_folder(self) -> Path:
        """The folder of uploads and results. If `blob_store` is a URL, the folder has only copies,
        and results of running jobs."""
        return Path(self.blob_store) if self.blob_store and self.has_folder else self.data_folder

    @property
    def stored_place(self) -> str:
        """The place of the uploads and results, for the user."""
        return str(self.stored_folder) if self.has_folder else public_url(self.blob_store)

    @property
    def used_database_url(self) -> str:
        """The URL of the database: `database_url`, or that of a file in the data folder."""
        from app.store.database import sqlite_url

        return self.database_url or sqlite_url(self.data_folder)

    @property
    def used_machine_name(self) -> str:
        """The name of this machine: `machine_name`, or the one that the system gives."""
        return self.machine_name or machine_name()

    @property
    def has_folder(self) -> bool:
        """Whether the blob store is a folder."""
        return not is_remote(self.blob_store)

    @property
    def has_supervisor(self) -> bool:
        """Whether jobs run in a supervisor of the server itself."""
        return self.supervisor == "inside" and self.engine == "local"

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
