"""The tables. A change here comes with a step in migrations/versions; a test compares the two."""

from __future__ import annotations

from sqlalchemy import BigInteger, Double, String, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class Base(DeclarativeBase):
    """What all tables share: their metadata."""


class LinkRow(Base):
    """A short link, never changed once it is there. Units: Unix seconds.

    `digest` says what the link stands for (`links.Shared.digest`); `other` is JSON or "". `n_bytes`
    is what both texts take: all of them are summed at each new link, by the index alone.
    """

    __tablename__ = "links"

    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    fragment: Mapped[str] = mapped_column(Text)
    other: Mapped[str] = mapped_column(Text)
    made_with: Mapped[str] = mapped_column(String(40))
    created_s: Mapped[float] = mapped_column(Double)
    n_bytes: Mapped[int] = mapped_column(BigInteger, index=True)
