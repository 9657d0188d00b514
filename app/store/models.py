"""The tables of the database; each change needs a migration, and a test compares tables and
migrations."""

from __future__ import annotations

from sqlalchemy import BigInteger, Double, Integer, String, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


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
