"""The data of each server-sent event of a job.

The events come in this order: `queued` (repeated when the position changes), `started`, the other
events as they occur, and finally `finished`, `failed` or `cancelled`.
"""

from __future__ import annotations

from typing import NotRequired

from app.wire.shapes import Payload
from app.wire.shapes.facts import Problem


class QueuedEvent(Payload):
    """The job waits; `position` in the queue counts from 1.

    `wait_s` is the estimated waiting time in seconds, from the durations of recent jobs; null if
    there are none.
    """

    position: int
    wait_s: float | None


class StartedEvent(Payload):
    """A child process has started the job."""


class PhaseEvent(Payload):
    """A phase has begun."""

    phase: str
    words: str


class ImportedEvent(Payload):
    """Stage 0 is available."""

    stage: int
    name: str
    n_nodes: int
    n_constants: int


class PassEvent(Payload):
    """A pass has ended, and its stage is available."""

    stage: int
    name: str
    seconds: float
    changed: bool
    n_nodes: int
    n_applied: int
    n_declined: int


class ReadyEvent(Payload):
    """A part of the result is available, even if the job has not finished.

    The parts of a compilation are `code` (kernels, memory, provenance, all texts except assembly),
    `measure` (times of kernels and of whole runs), `listing` (assembly), `check`, `accuracy`, and
    `links` (links between texts, fusion verdicts).
    """

    part: str


class RoundEvent(Payload):
    """Progress of a measurement: the number of timed rounds, and the elapsed fraction of its
    time."""

    done: int
    share: float


class EndEvent(Payload):
    """The job has ended; after a failure, `error` is the reason."""

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
