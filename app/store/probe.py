"""A test write that shows whether the database accepts changes."""

from __future__ import annotations

import time

from app.store.database import Database
from app.store.models import CountRow


def write_probe(database: Database) -> None:
    """Write a row that has no effect on the counters. Errors: SQLAlchemyError."""
    with database.session() as session:
        session.merge(CountRow(kind="probe", client="", number=0, n=0, forget_s=time.time()))
