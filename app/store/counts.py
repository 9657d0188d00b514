"""Counters of limited requests, which all servers of a database share.

Time is divided into windows, as long as the period of the limit. The count of the previous window
is weighted by its overlap with a window that ends now. So a client never waits for the start of a
window.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import delete
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from app.rate import Limit, TooMany
from app.store.database import Database
from app.store.models import CountRow


class Share(NamedTuple):
    """A limit of a client: the name of the client, the kind of its name for messages."""

    client: str
    whose: str
    limit: Limit


class Counts:
    """The counters of a database."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def add(
        self, kind: str, shares: Sequence[Share], amount: int = 1, now_s: float | None = None
    ) -> None:
        """Count an amount in all shares, or in none if this exceeds one of them.

        Errors: TooMany.
        """
        now = time.time() if now_s is None else now_s
        limited = [share for share in shares if share.limit.n]
        if not limited:
            return
        with self.database.session() as session:
            for share in limited:
                _add(session, kind, share, amount, now)


def _add(session: Session, kind: str, share: Share, amount: int, now: float) -> None:
    limit = share.limit
    window = int(now // limit.seconds)
    into = now / limit.seconds - window
    current = _counted(session, kind, share, amount, window)
    if current == amount:
        session.execute(delete(CountRow).where(CountRow.forget_s < now))
    row = session.get(CountRow, (kind, share.client, window - 1))
    before = row.n if row is not None else 0
    if current + before * (1 - into) > limit.n:
        had = current - amount + round(before * (1 - into))
        wait = _wait(before, current - amount, amount, into, limit)
        raise TooMany(limit, share.whose, had, amount, wait)  # undoes the whole transaction


def _counted(session: Session, kind: str, share: Share, amount: int, window: int) -> int:
    """Add an amount to a counter, and return its new value.

    In PostgreSQL, the row stays locked until the end of the transaction.
    """
    insert = postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert
    forget_s = (window + 2) * share.limit.seconds
    added = insert(CountRow).values(
        kind=kind, client=share.client, number=window, n=amount, forget_s=forget_s
    )
    upserted = added.on_conflict_do_update(
        index_elements=[CountRow.kind, CountRow.client, CountRow.number],
        set_={"n": CountRow.n + amount},
    ).returning(CountRow.n)
    return int(session.execute(upserted).scalar_one())


def _wait(before: int, current: int, amount: int, into: float, limit: Limit) -> float:
    """Return the time in seconds until an amount fits the limit, without further requests."""
    if amount > limit.n:
        return limit.seconds
    room = limit.n - amount
    if current <= room:  # within this window, when enough of the previous one is out of sight
        share = (room - current) / before
        return max(0.0, 1 - share - into) * limit.seconds
    return (1 - into + max(0.0, 1 - room / current)) * limit.seconds
