"""Figures of the server that are sampled during a run: memory, descriptors, disk, jobs."""

from __future__ import annotations

import asyncio
import re
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from time import monotonic

from app.quotas import tree_bytes
from benchmarks.load import processes
from benchmarks.load.processes import STEADY, Role, Use
from benchmarks.load.servers import Served

_DISK_EVERY = 6
"""Samples between two measurements of the disk, which visits all files."""
_LAG_EVERY_S = 0.1
_JOBS = re.compile(r'^compilarium_jobs\{kind="(\w+)",state="(\w+)"\} (\S+)$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample. `at_s` is the time since the start of the run; `disk` is None if not measured."""

    at_s: float
    uses: Mapping[Role, Use]
    disk: Mapping[str, int] | None

    @property
    def steady(self) -> Use:
        """The processes that live as long as the server."""
        return sum((self.uses.get(each, Use()) for each in STEADY), Use())

    @property
    def all(self) -> Use:
        """All processes, with the children of jobs."""
        return sum(self.uses.values(), Use())


@dataclass(frozen=True, slots=True)
class Spent:
    """Processor time during a run, as shares of one processor; `others` is the time of programs
    that do not belong to the run."""

    client: float
    server: float
    others: float


@dataclass
class Sampler:
    """Samples a server every few seconds, until it is cancelled."""

    served: Served
    every_s: float = 5.0
    samples: list[Sample] = field(default_factory=list[Sample])
    lags_s: list[float] = field(default_factory=list[float])
    """How late the client's own timers were: longer than a few milliseconds, times measured by
    the client are too long."""

    def __post_init__(self) -> None:
        self.start_s = monotonic()
        self._begun = self._times()

    async def run(self) -> None:
        """Sample."""
        while True:
            if self.served.roots:
                self.samples.append(await asyncio.to_thread(self._sample))
            await asyncio.sleep(self.every_s)

    async def watch_lag(self) -> None:
        """Measure how late timers are."""
        while True:
            begin = monotonic()
            await asyncio.sleep(_LAG_EVERY_S)
            self.lags_s.append(monotonic() - begin - _LAG_EVERY_S)

    def _sample(self) -> Sample:
        at_s = monotonic() - self.start_s
        folder = self.served.folder
        disk: dict[str, int] | None = None
        if folder is not None and len(self.samples) % _DISK_EVERY == 0:
            disk = {each.name: tree_bytes(each) for each in folder.iterdir() if each.is_dir()}
            disk["files"] = sum(f.stat().st_size for f in folder.iterdir() if f.is_file())
        return Sample(at_s, processes.uses(self.served.roots), disk)

    def _times(self) -> tuple[float, float, float, float]:
        used, _ = processes.machine_seconds()
        return monotonic(), time.process_time(), processes.seconds(self.served.roots), used

    def spent(self) -> Spent:
        """Return the shares of processor time since the start."""
        wall, client, server, used = (
            now - then for now, then in zip(self._times(), self._begun, strict=True)
        )
        others = max(0.0, used - client - server)
        return Spent(client / wall, server / wall, others / wall)


def stored_jobs(served: Served) -> dict[str, int]:
    """Return the number of stored jobs by kind and state, from /metrics; empty without access."""
    wanted = urllib.request.Request(f"{served.url}/metrics")
    if served.token:
        wanted.add_header("Authorization", f"Bearer {served.token}")
    try:
        with urllib.request.urlopen(wanted, timeout=60) as answer:
            text = answer.read().decode()
    except OSError:
        return {}
    return {f"{kind} {state}": int(float(n)) for kind, state, n in _JOBS.findall(text)}
