"""The supervisors that are at work, for operators: an idle supervisor has no lease."""

from __future__ import annotations

from typing import cast

from sqlalchemy import Connection, Table, delete, func, insert, select, update

from app.store.dialects import now
from app.store.models import SupervisorRow

_SUPERVISORS = cast(Table, SupervisorRow.__table__)
_S = _SUPERVISORS.c
_FORGET_S = 86_400.0


def report(connection: Connection, name: str, machine: str) -> None:
    """Note that a supervisor is at work."""
    renewed = update(_SUPERVISORS).where(_S.name == name).values(heartbeat_s=now(connection))
    if connection.execute(renewed).rowcount:
        return
    row = {"name": name, "machine": machine, "heartbeat_s": now(connection)}
    connection.execute(insert(_SUPERVISORS).values(**row))
    late = now(connection) - _FORGET_S
    connection.execute(delete(_SUPERVISORS).where(_S.heartbeat_s < late))


def leave(connection: Connection, name: str) -> None:
    """Note that a supervisor has ended."""
    connection.execute(delete(_SUPERVISORS).where(_S.name == name))


def n_at_work(connection: Connection, within_s: float) -> int:
    """Return the number of supervisors that have reported within this time in seconds."""
    recent = _S.heartbeat_s > now(connection) - within_s
    return connection.scalar(select(func.count()).select_from(_SUPERVISORS).where(recent)) or 0
