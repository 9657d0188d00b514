"""Answers to requests with an Idempotency-Key, so that a repeated request has the same answer."""

from __future__ import annotations

import hashlib
import time
from typing import NamedTuple

from sqlalchemy import delete
from sqlalchemy.exc import IntegrityError

from app.store.database import Database
from app.store.models import AnswerRow
from compiler.errors import CompileError

KEPT_S = 24 * 3600.0
"""Time after which a key may be used again."""
_LOST_AFTER_S = 60.0
"""A request that is not answered after this time was lost with its server."""
_TRIES = 3


class Answer(NamedTuple):
    """A stored answer; its content is JSON."""

    status: int
    location: str
    content: str


class AnswerStore:
    """The answers in a database. A `key` identifies the client and its Idempotency-Key."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def begin(self, key: str, request: str, now_s: float | None = None) -> Answer | None:
        """Return the answer to an earlier equal request, or None if the caller must answer it.

        Errors: E-REQUEST-KEY if the earlier request was another one; E-REQUEST-BUSY if it is being
        answered.
        """
        now = time.time() if now_s is None else now_s
        for _ in range(_TRIES):
            try:
                return self._begin(_digest(key), _digest(request), now)
            except IntegrityError:
                continue  # another server has just begun with this key
        raise _busy()

    def _begin(self, key: str, request: str, now: float) -> Answer | None:
        with self.database.session() as session:
            session.execute(delete(AnswerRow).where(AnswerRow.created_s < now - KEPT_S))
            row = session.get(AnswerRow, key, with_for_update=True)
            if row is None:
                row = AnswerRow(
                    id=key, request=request, status=0, location="", content="", created_s=now
                )
                session.add(row)
                return None
            if row.request != request:
                raise CompileError(
                    "E-REQUEST-KEY", "this Idempotency-Key was sent with another request"
                )
            if row.status:
                return Answer(row.status, row.location, row.content)
            if row.created_s > now - _LOST_AFTER_S:
                raise _busy()
            row.created_s = now
            return None

    def finish(self, key: str, answer: Answer) -> None:
        """Store the answer to a request that has begun."""
        with self.database.session() as session:
            row = session.get(AnswerRow, _digest(key), with_for_update=True)
            if row is not None:
                row.status, row.location, row.content = answer

    def forget(self, key: str) -> None:
        """Forget a request that has failed, so that its key may be used again."""
        with self.database.session() as session:
            session.execute(
                delete(AnswerRow).where(AnswerRow.id == _digest(key), AnswerRow.status == 0)
            )


def _busy() -> CompileError:
    return CompileError("E-REQUEST-BUSY", "an equal request is being answered")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
