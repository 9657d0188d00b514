"""The tables of the database; each change needs a migration, and a test compares tables and
migrations."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Double, ForeignKey, Index, Integer, String, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from app.store.jobs.record import PHASE_CHARACTERS


class Base(DeclarativeBase):
    """The base class of all tables, with their metadata."""


class LinkRow(Base):
    """An immutable short link. Units: Unix seconds.

    `digest` identifies the state (`links.Shared.digest`); `other` is JSON or "". `n_bytes` is the
    total size of `fragment` and `other`. Storing a new link sums this column; the sum reads only
    the index.
    """

    __tablename__ = "links"

    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    fragment: Mapped[str] = mapped_column(Text)
    other: Mapped[str] = mapped_column(Text)
    made_with: Mapped[str] = mapped_column(String(40))
    created_s: Mapped[float] = mapped_column(Double)
    n_bytes: Mapped[int] = mapped_column(BigInteger, index=True)


class CountRow(Base):
    """The units of a limit that a client has used in a window of time. Units: Unix seconds.

    `client` is a digest (`clients.Client.key`). `number` counts the windows, which are as long as
    the limit. After `forget_s`, the row has no effect.
    """

    __tablename__ = "counts"

    kind: Mapped[str] = mapped_column(String(32), primary_key=True)
    client: Mapped[str] = mapped_column(String(32), primary_key=True)
    number: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    n: Mapped[int] = mapped_column(BigInteger)
    forget_s: Mapped[float] = mapped_column(Double, index=True)


class AnswerRow(Base):
    """The answer to a request with an Idempotency-Key. Units: Unix seconds.

    `id` is the digest of client and key, `request` the digest of the request. While the request is
    answered, `status` is 0. `content` is JSON.
    """

    __tablename__ = "answers"

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    request: Mapped[str] = mapped_column(String(64))
    status: Mapped[int] = mapped_column(Integer)
    location: Mapped[str] = mapped_column(Text)
    content: Mapped[str] = mapped_column(Text)
    created_s: Mapped[float] = mapped_column(Double, index=True)


class JobRow(Base):
    """A job: the only record of its state, see docs/jobs.md. Units: Unix seconds.

    The columns form five groups: the request, the queue, the lease, the state for clients, and the
    interest of clients. The columns of one group change together.
    """

    __tablename__ = "jobs"
    __table_args__ = (
        Index("ix_jobs_state", "state", "serial"),
        Index("ix_jobs_ended_s", "ended_s"),
    )

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    serial: Mapped[int] = mapped_column(BigInteger, unique=True)
    """Counts submissions: the order in the queue does not depend on a clock."""
    kind: Mapped[str] = mapped_column(String(40))
    request: Mapped[str] = mapped_column(Text)
    digest: Mapped[str] = mapped_column(String(64), index=True)
    """The digest of the request: equal requests share a job."""
    private: Mapped[str] = mapped_column(Text)
    examined: Mapped[str] = mapped_column(String(40), index=True)
    """The job whose result this job examines; "" if it compiles a model."""
    model_name: Mapped[str] = mapped_column(Text)
    form: Mapped[str] = mapped_column(String(40))
    created_s: Mapped[float] = mapped_column(Double)

    queue: Mapped[str] = mapped_column(String(16))
    priority: Mapped[int] = mapped_column(Integer)
    client: Mapped[str] = mapped_column(String(200))
    pane: Mapped[str] = mapped_column(String(60))
    position: Mapped[int] = mapped_column(Integer)
    wait_s: Mapped[float | None] = mapped_column(Double)

    state: Mapped[str] = mapped_column(String(16))
    attempt: Mapped[int] = mapped_column(Integer)
    max_attempts: Mapped[int] = mapped_column(Integer)
    crashes: Mapped[int] = mapped_column(Integer)
    """The number of attempts that a signal ended."""
    owner: Mapped[str] = mapped_column(String(120))
    machine: Mapped[str] = mapped_column(String(80))
    processor: Mapped[str] = mapped_column(String(40), server_default="")
    """The kind of machine that runs or ran the job; "" if it is unknown."""
    needs: Mapped[str] = mapped_column(String(40), server_default="")
    """The only kind of machine that may run the job; "" for any."""
    heartbeat_s: Mapped[float] = mapped_column(Double)
    lease_until_s: Mapped[float] = mapped_column(Double)
    is_cancelled: Mapped[bool] = mapped_column(Boolean)
    is_stopped: Mapped[bool] = mapped_column(Boolean)

    phase: Mapped[str] = mapped_column(String(PHASE_CHARACTERS))
    n_stages: Mapped[int] = mapped_column(Integer)
    n_events: Mapped[int] = mapped_column(Integer)
    error: Mapped[str] = mapped_column(Text)
    started_s: Mapped[float] = mapped_column(Double)
    ended_s: Mapped[float] = mapped_column(Double)
    n_bytes: Mapped[int] = mapped_column(BigInteger, server_default="0")
    """The size of the results; only set with a network blob store."""

    n_clients: Mapped[int] = mapped_column(Integer)
    n_followed: Mapped[int] = mapped_column(Integer)
    seen_s: Mapped[float] = mapped_column(Double)


class SupervisorRow(Base):
    """A supervisor at work; `name` is the owner of its leases. Units: Unix seconds.

    `facts` describes its machine as JSON.
    """

    __tablename__ = "supervisors"

    name: Mapped[str] = mapped_column(String(120), primary_key=True)
    machine: Mapped[str] = mapped_column(String(80))
    processor: Mapped[str] = mapped_column(String(40), server_default="")
    facts: Mapped[str] = mapped_column(Text, server_default="{}")
    heartbeat_s: Mapped[float] = mapped_column(Double)


class JobEventRow(Base):
    """An event of a job; `number` counts from 1, `data` is JSON."""

    __tablename__ = "job_events"

    job_id: Mapped[str] = mapped_column(
        String(40), ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True
    )
    number: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(String(40))
    data: Mapped[str] = mapped_column(Text)
