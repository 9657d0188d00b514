"""Server-sent events of a job: the data of each.

Order: `queued` (again when the position changes), `started`, then the others as they happen, and
one of `finished`, `failed` and `cancelled`.
"""

from __future__ import annotations

from typing import NotRequired

from app.wire.shapes import Payload
from app.wire.shapes.facts import Problem


class QueuedEvent(Payload):
    """The job waits; `position` counts from 1 at the front."""

    position: int


class StartedEvent(Payload):
    """A child took the job."""


class PhaseEvent(Payload):
    """A phase began."""

    phase: str
    words: str


class ImportedEvent(Payload):
    """Stage 0 can be read."""

    stage: int
    name: str
    n_nodes: int
    n_constants: int


class PassEvent(Payload):
    """A pass ended, and its stage can be read."""

    stage: int
    name: str
    seconds: float
    changed: bool
    n_nodes: int
    n_applied: int
    n_declined: int


class ReadyEvent(Payload):
    """A part of the result can be read, long before the job is over.

    Of a compilation: `code` (kernels, memory, provenance, all texts but assembly), `measure`
    (seconds of kernels and `run`), `listing` (assembly), `check`, `accuracy`, `links` (links of
    kernels, neighbours).
    """

    part: str


class RoundEvent(Payload):
    """A job that measures has timed so many rounds, this share of its time."""

    done: int
    share: float


class EndEvent(Payload):
    """The job is over; `error` says why it failed."""

    seconds: float
    n_stages: int
    error: NotRequired[Problem]


EVENTS = {
    "queued": QueuedEvent,
    "started": StartedEvent,
    "phase": PhaseEvent,
    "imported": ImportedEvent,
    "pass": PassEvent,
    "ready": ReadyEvent,
    "round": RoundEvent,
    **dict.fromkeys(("finished", "failed", "cancelled"), EndEvent),
}
