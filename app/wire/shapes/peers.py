"""Comparisons of a compilation with other runtimes."""

from __future__ import annotations

from typing import TypedDict

from app.wire.shapes import Payload
from app.wire.shapes.profiles import Disturbance, RunTimes
from compiler.bench.versus import Verdict


class Peer(TypedDict):
    """Another runtime. `install` is the command that installs the peer; `is_installed` is true if
    the server has the peer."""

    name: str
    title: str
    is_installed: bool
    install: str


class Peers(Payload):
    """The runtimes with which programs can be compared."""

    peers: list[Peer]


class PeerComparison(Payload):
    """Times of a program and of another runtime, in interleaved rounds of one process.

    `ratio` is the time of the peer relative to the program, and `low` to `high` its 99 % confidence
    interval. `verdict` compares the peer with the program. `relative_error` is the largest
    difference of the results, relative to the largest magnitude.
    """

    peer: str
    title: str
    peer_version: str
    verdict: Verdict
    ratio: float
    low: float
    high: float
    n_blocks: int
    threads: int
    seed: int
    relative_error: float | None
    disturbance: Disturbance
    ours: RunTimes
    theirs: RunTimes
