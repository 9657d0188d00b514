"""The tables of the database; each change needs a migration, and a test compares tables and
migrations."""

from __future__ import annotations

from sqlalchemy import BigInteger, Double, String, Text
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
