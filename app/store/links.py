"""Short links: ids of eight characters for states of the page; equal states have equal ids.

The id derives from the digest of the state, so sharing a view twice stores it once. A link never
changes, and never expires unless the settings limit its age.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import CursorResult, delete, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.store.database import Database
from app.store.models import LinkRow
from compiler.errors import CompileError

ID_CHARACTERS = 8
# Digits and letters that are hard to confuse.
_ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_ID = re.compile(f"[{_ALPHABET}]{{1,16}}")
_TRIES = 16


@dataclass(frozen=True, slots=True)
class Shared:
    """The state behind a link: the page's fragment in normal form, without ids of jobs.

    `other` is the request of the compared job, if any. `made_with` is the version of the compiler
    that computed the shared result.
    """

    fragment: str
    other: Mapping[str, Any] | None
    made_with: str

    @property
    def digest(self) -> str:
        """The SHA-256 digest of the state, in hexadecimal."""
        return hashlib.sha256(
            "\0".join((self.made_with, self.fragment, self.other_text)).encode()
        ).hexdigest()

    @property
    def other_text(self) -> str:
        """The request of the compared job in normal form; "" if no job is compared."""
        return json.dumps(self.other, sort_keys=True) if self.other is not None else ""

    @property
    def n_bytes(self) -> int:
        """The stored size in bytes: the total length of fragment and request, both ASCII."""
        return len(self.fragment) + len(self.other_text)


@dataclass(frozen=True, slots=True)
class Link:
    """A stored link. Units: Unix seconds."""

    id: str
    shared: Shared
    created_s: float


class LinkStore:
    """The links of a database, limited by number and by the total bytes of their texts."""

    def __init__(self, database: Database, limit: int, limit_bytes: int) -> None:
        self.database = database
        self.limit = limit
        self.limit_bytes = limit_bytes

    def require_room(self, shared: Shared) -> bool:
        """Raise E-LINK-FULL if a new state exceeds the limits; return False if the state is already
        stored."""
        if self._of_digest(shared.digest) is not None:
            return False
        with self.database.reading() as session:
            self._count(session, shared.n_bytes)
        return True

    def keep(self, shared: Shared) -> Link:
        """Return the link of a state, created if necessary. Errors: E-LINK-FULL."""
        for _ in range(_TRIES):
            known = self._of_digest(shared.digest)
            if known is not None:
                return known
            try:
                return self._insert(shared)
            except IntegrityError:
                continue  # another request has just taken the id or created this link
        raise AssertionError(f"no free id for {shared.digest}")

    def find(self, link_id: str) -> Link:
        """Find a link by id. Errors: E-REQUEST-UNKNOWN."""
        if _ID.fullmatch(link_id):
            with self.database.reading() as session:
                row = session.get(LinkRow, link_id)
                if row is not None:
                    return _link(row)
        raise CompileError(
            "E-REQUEST-UNKNOWN",
            f"there is no link {link_id[:20]!r}",
            hint="check the link: upper and lower case differ",
        )

    def expire(self, before_s: float) -> int:
        """Remove the links that were created before this time, and return their number."""
        with self.database.session() as session:
            found = delete(LinkRow).where(LinkRow.created_s < before_s)
            return cast("CursorResult[Any]", session.execute(found)).rowcount

    def texts(self) -> Iterator[str]:
        """Yield the fragments and requests of all links; these texts name the models."""
        with self.database.reading() as session:
            found = select(LinkRow.fragment, LinkRow.other).execution_options(yield_per=1000)
            for row in session.execute(found):
                yield from row

    def _of_digest(self, digest: str) -> Link | None:
        with self.database.reading() as session:
            row = session.scalar(select(LinkRow).where(LinkRow.digest == digest))
            return _link(row) if row is not None else None

    def _count(self, session: Session, more_bytes: int) -> None:
        """Check the limits on the number of links and on their total size in bytes. Errors:
        E-LINK-FULL."""
        n_links = session.scalar(select(func.count()).select_from(LinkRow)) or 0
        if n_links >= self.limit:
            raise CompileError(
                "E-LINK-FULL",
                f"the server's limit for links is reached: {n_links:,} of {self.limit:,}",
            )
        n_bytes = int(session.scalar(select(func.sum(LinkRow.n_bytes))) or 0)
        if n_bytes + more_bytes > self.limit_bytes:
            raise CompileError(
                "E-LINK-FULL",
                f"links may take {self.limit_bytes:,} bytes on this server; {n_bytes:,} are used, "
                f"and this link needs {more_bytes:,} more",
            )

    def _insert(self, shared: Shared) -> Link:
        with self.database.session() as session:
            self._count(session, shared.n_bytes)
            free = (i for i in ids(shared.digest) if session.get(LinkRow, i) is None)
            row = LinkRow(
                id=next(free),
                digest=shared.digest,
                fragment=shared.fragment,
                other=shared.other_text,
                made_with=shared.made_with,
                created_s=time.time(),
                n_bytes=shared.n_bytes,
            )
            session.add(row)
            session.flush()
            return _link(row)


def ids(digest: str, n_characters: int = ID_CHARACTERS) -> Iterator[str]:
    """Yield the possible ids of the link to a state with this digest, in order of preference.

    After every 16 ids, the ids become one character longer.
    """
    for attempt in range(4 * _TRIES):
        number = int.from_bytes(hashlib.sha256(f"{digest} {attempt}".encode()).digest())
        longer = attempt // _TRIES
        yield "".join(
            _ALPHABET[number // len(_ALPHABET) ** i % len(_ALPHABET)]
            for i in range(n_characters + longer)
        )


def _link(row: LinkRow) -> Link:
    other = json.loads(row.other) if row.other else None
    return Link(row.id, Shared(row.fragment, other, row.made_with), row.created_s)
