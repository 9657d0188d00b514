"""The supervisors that are at work, and their machines: an idle supervisor has no lease.

The senders, which send jobs to the workers of a Dask cluster, have rows without a machine.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from sqlalchemy import ColumnElement, Connection, Table, delete, func, insert, select, update

from app.store.dialects import now
from app.store.models import SupervisorRow

_SUPERVISORS = cast(Table, SupervisorRow.__table__)
_S = _SUPERVISORS.c
_IS_SUPERVISOR = _S.machine != ""
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


def report_sender(connection: Connection, name: str, problem: str) -> None:
    """Note that a sender is at work, and why it sends no jobs; "" if it does."""
    report(connection, name, Machine("", "", {"problem": problem}))


def leave(connection: Connection, name: str) -> None:
    """Note that a supervisor has ended."""
    connection.execute(delete(_SUPERVISORS).where(_S.name == name))


def n_at_work(connection: Connection, within_s: float) -> int:
    """Return the number of supervisors that have reported within this time in seconds."""
    recent = _recent(connection, within_s) & _IS_SUPERVISOR
    return connection.scalar(select(func.count()).select_from(_SUPERVISORS).where(recent)) or 0


def machines(connection: Connection, within_s: float) -> list[Machine]:
    """Return the machines whose supervisors have reported within this time, by name."""
    ordered = at_work(connection, within_s).values()
    return list({machine.name: machine for machine in ordered}.values())


def at_work(connection: Connection, within_s: float) -> dict[str, Machine]:
    """Return the machines of supervisors that have reported within this time, by the supervisor's
    name; sorted by the machine's name."""
    recent = _recent(connection, within_s) & _IS_SUPERVISOR
    wanted = select(_S.name, _S.machine, _S.processor, _S.facts).where(recent)
    return {
        row.name: Machine(row.machine, row.processor, json.loads(row.facts))
        for row in connection.execute(wanted.order_by(_S.machine, _S.name))
    }


def senders(connection: Connection, within_s: float) -> list[str]:
    """Return the problem of each sender that has reported within this time; "" for none."""
    wanted = select(_S.facts).where(_recent(connection, within_s) & ~_IS_SUPERVISOR)
    return [json.loads(facts)["problem"] for facts in connection.scalars(wanted)]


def _recent(connection: Connection, within_s: float) -> ColumnElement[bool]:
    return _S.heartbeat_s > now(connection) - within_s
