"""The events that a child may report, checked against their declared payloads."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import isfinite
from typing import Any

from app.jobs.limits import invalid_message
from app.wire.shapes import fields_of_shape
from app.wire.shapes.events import EVENTS

FROM_CHILDREN = ("phase", "imported", "pass", "ready", "round")
"""Events that children report to clients; the server reports all other events."""
_TEXT_LIMIT = 10_000
_MOST = 2**53


def check_event(event: str, data: Mapping[str, Any]) -> None:
    """Check an event from a child. Errors: E-LIMIT-CRASH."""
    if event not in FROM_CHILDREN or data.keys() != _types(event).keys():
        raise invalid_message(event.encode("utf-8", "replace"))
    for name, wanted in _types(event).items():
        if not _fits(data[name], wanted):
            raise invalid_message(f"{event}: {name}".encode())


@cache
def _types(event: str) -> dict[str, Any]:
    fields = fields_of_shape(EVENTS[event])
    return {name: field.type for name, field in fields.items() if name != "version"}


def _fits(value: Any, wanted: Any) -> bool:
    if wanted is str:
        return isinstance(value, str) and len(value) <= _TEXT_LIMIT
    if wanted is float:
        return type(value) in (int, float) and abs(value) <= _MOST and isfinite(value)
    return type(value) is wanted and abs(value) <= _MOST
