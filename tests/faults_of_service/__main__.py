"""Kills processes of a service at random moments: `python -m tests.faults_of_service --kills N`."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.leftovers import leftovers
from tests.faults_of_service.kills import FAULTS
from tests.faults_of_service.load import Load
from tests.faults_of_service.service import Service
from tests.faults_of_service.verdict import states, unfinished, wrongs

_SETTLE_S = 180.0
_ORPHANS_S = 20.0
_PROGRESS_S = 30.0


@dataclass
class Report:
    """The faults and jobs of a run, and what is wrong."""

    n_jobs: int = 0
    faults: Counter[str] = field(default_factory=Counter[str])
    states: Counter[str] = field(default_factory=Counter[str])
    wrong: list[str] = field(default_factory=list[str])


def run(folder: Path, n_kills: int, seed: int, say: Callable[[str], None]) -> Report:
    """Run a service under load, with this number of faults, and check it afterwards."""
    service = Service(folder / "data", folder / "log.txt")
    service.start()
    load = Load(lambda: service.port, n_clients=3, at_most=12)
    report = Report()
    try:
        load.start()
        _kill(service, load, n_kills, random.Random(seed), report, say)
        load.stop()
        _settle(service, load)
        code = service.stop()
        report.wrong += [f"the service ended with {code}"] if code else []
        report.wrong += _orphans(service)
    finally:
        load.stop()
        service.is_stopping = True
        service.kill_all()
    found = states(service.folder)
    report.n_jobs, report.states = len(load.accepted), Counter(found.values())
    report.wrong += [*load.unexpected, *wrongs(service.folder, load.accepted)]
    return report


def _kill(
    service: Service,
    load: Load,
    n_kills: int,
    chance: random.Random,
    report: Report,
    say: Callable[[str], None],
) -> None:
    names, weights = list(FAULTS), [share for share, _ in FAULTS.values()]
    while report.faults.total() < n_kills:
        _await_progress(service, load)
        time.sleep(chance.uniform(0.0, 0.3))
        (name,) = chance.choices(names, weights)
        if FAULTS[name][1](service, chance):
            report.faults[name] += 1
            say(f"{report.faults.total()} {name}; {load.n_ended} of {len(load.accepted)} ended")


def _await_progress(service: Service, load: Load) -> None:
    """Wait until another job has ended, so that each fault interrupts work."""
    before, end_s = load.n_ended, time.monotonic() + _PROGRESS_S
    while load.n_ended <= before and time.monotonic() < end_s:
        time.sleep(0.02)
        load.n_ended = len(load.accepted) - len(unfinished(service.folder, load.accepted))


def _settle(service: Service, load: Load) -> None:
    end_s = time.monotonic() + _SETTLE_S
    while unfinished(service.folder, load.accepted) and time.monotonic() < end_s:
        time.sleep(0.1)


def _orphans(service: Service) -> list[str]:
    """Return the processes that outlive the service."""
    end_s = time.monotonic() + _ORPHANS_S
    while (pids := service.pids()) and time.monotonic() < end_s:
        time.sleep(0.05)
    return [f"process {pid} is an orphan" for pid in (*pids, *leftovers())]


def main() -> None:
    """Print the faults, the states of all jobs, and what is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults_of_service")
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = run(Path(folder), options.kills, options.seed, print)
    print(f"{report.n_jobs} accepted jobs, {dict(report.faults)}, {dict(report.states)}")
    print("\n".join(report.wrong) or "nothing is wrong")
    sys.exit(bool(report.wrong))


if __name__ == "__main__":
    main()
