"""The supervisors that are at work, and their machines: an idle supervisor has no lease."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from sqlalchemy import Connection, Table, delete, func, insert, select, update

from app.store.dialects import now
from app.store.models import SupervisorRow

_SUPERVISORS = cast(Table, SupervisorRow.__table__)
_S = _SUPERVISORS.c
_FORGET_S = 86_400.0


class Machine(NamedTuple):
    """A machine of a supervisor: its name, its kind, and the facts that describe it."""

    name: str
    processor: str
    facts: Mapping[str, Any]


def report(connection: Connection, name: str, machine: Machine) -> None:
    """Note that a supervisor is at work."""
    row = {
        "machine": machine.name,
        "processor": machine.processor,
        "facts": json.dumps(machine.facts),
        "heartbeat_s": now(connection),
    }
    renewed = update(_SUPERVISORS).where(_S.name == name).values(**row)
    if connection.execute(renewed).rowcount:
        return
    connection.execute(insert(_SUPERVISORS).values(name=name, **row))
    late = now(connection) - _FORGET_S
    connection.execute(delete(_SUPERVISORS).where(_S.heartbeat_s < late))


def leave(connection: Connection, name: str) -> None:
    """Note that a supervisor has ended."""
    connection.execute(delete(_SUPERVISORS).where(_S.name == name))


def n_at_work(connection: Connection, within_s: float) -> int:
    """Return the number of supervisors that have reported within this time in seconds."""
    recent = _S.heartbeat_s > now(connection) - within_s
    return connection.scalar(select(func.count()).select_from(_SUPERVISORS).where(recent)) or 0


def machines(connection: Connection, within_s: float) -> list[Machine]:
    """Return the machines whose supervisors have reported within this time, by name."""
    recent = _S.heartbeat_s > now(connection) - within_s
    wanted = select(_S.machine, _S.processor, _S.facts).where(recent).order_by(_S.machine, _S.name)
    found: dict[str, Machine] = {}
    for row in connection.execute(wanted):
        found[row.machine] = Machine(row.machine, row.processor, json.loads(row.facts))
    return list(found.values())
