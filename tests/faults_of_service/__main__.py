"""Disturbs a service under load: `python -m tests.faults_of_service --kills N`."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from sandbox.leftovers import leftovers
from tests.faults_of_service.faults import FAULTS, chosen
from tests.faults_of_service.load import Load
from tests.faults_of_service.scene import Scene
from tests.faults_of_service.service import Service
from tests.faults_of_service.stores import BACKENDS, store_of
from tests.faults_of_service.verdict import states, unfinished, wrongs
from tests.mounts import mounted
from tests.platforms import may_mount

_SETTLE_S = 180.0
_ORPHANS_S = 20.0
_PROGRESS_S = 120.0
_DISK_MB = 64
_RESULTS_MB = 2
"""Results of the jobs between two faults."""


@dataclass
class Report:
    """The faults and jobs of a run, and what is wrong."""

    n_jobs: int = 0
    n_refused: int = 0
    faults: Counter[str] = field(default_factory=Counter[str])
    states: Counter[str] = field(default_factory=Counter[str])
    wrong: list[str] = field(default_factory=list[str])


Say = Callable[[str], None]


def run(
    folder: Path, backend: str, n_faults: int, seed: int, say: Say, longest_s: float = 30.0
) -> Report:
    """Run a service under load, with this number of faults, and check it afterwards.

    Outages, such as of the database, take at most `longest_s` seconds.
    """
    n_mb = _DISK_MB + _RESULTS_MB * n_faults
    with _disk(folder / "data", n_mb) as data, closing(store_of(backend, data)) as store:
        service = Service(data, folder / "log.txt", store.url)
        scene = Scene(service, store, random.Random(seed), longest_s)
        return _run(scene, n_faults, say)


@contextmanager
def _disk(folder: Path, n_mb: int) -> Iterator[Path]:
    """Create the data folder; for root, on a small disk of its own."""
    if may_mount():
        with mounted(folder, f"size={n_mb}m,mode=700"):
            yield folder
    else:
        folder.mkdir()
        yield folder


def _run(scene: Scene, n_faults: int, say: Say) -> Report:
    service, database = scene.service, scene.store.database
    service.start()
    load = Load(lambda: service.port, n_clients=3, at_most=12)
    report = Report()
    try:
        load.start()
        for name in chosen(scene, n_faults):
            report.wrong += _disturb(scene, load, name, report, say)
        load.stop()
        _settle(scene, load)
        code = service.stop()
        report.wrong += [f"the service ended with {code}"] if code else []
        report.wrong += _orphans(service)
    finally:
        load.stop()
        service.is_stopping = True
        service.kill_all()
    report.n_jobs, report.n_refused = len(load.accepted), load.refused.total()
    report.states = Counter(states(database).values())
    report.wrong += [*load.unexpected, *scene.store.damages()]
    may_fail = any(FAULTS[name].may_fail_jobs for name in report.faults)
    report.wrong += wrongs(database, service.folder, load.accepted, may_fail=may_fail)
    return report


def _disturb(scene: Scene, load: Load, name: str, report: Report, say: Say) -> list[str]:
    """Cause a fault while jobs run; afterwards, jobs must go on."""
    time.sleep(scene.chance.uniform(0.0, 0.3))
    start_s = time.monotonic()
    if FAULTS[name].act(scene):
        report.faults[name] += 1
        ended = f"{load.n_ended} of {len(load.accepted)} jobs have ended"
        say(f"{report.faults.total()} {name}, {time.monotonic() - start_s:.1f} s; {ended}")
    is_alive = _await_progress(scene, load)
    return [] if is_alive else [f"no job has ended within {_PROGRESS_S:.0f} s after: {name}"]


def _await_progress(scene: Scene, load: Load) -> bool:
    """Wait until another job has ended, so that each fault interrupts work."""
    before, end_s = load.n_ended, time.monotonic() + _PROGRESS_S
    while load.n_ended <= before and time.monotonic() < end_s:
        time.sleep(0.02)
        _count_ended(scene, load)
    return load.n_ended > before


def _settle(scene: Scene, load: Load) -> None:
    end_s = time.monotonic() + _SETTLE_S
    _count_ended(scene, load)
    while load.n_ended < len(load.accepted) and time.monotonic() < end_s:
        time.sleep(0.1)
        _count_ended(scene, load)


def _count_ended(scene: Scene, load: Load) -> None:
    with suppress(SQLAlchemyError):  # the database may still recover
        load.n_ended = len(load.accepted) - len(unfinished(scene.store.database, load.accepted))


def _orphans(service: Service) -> list[str]:
    """Return the processes that outlive the service."""
    end_s = time.monotonic() + _ORPHANS_S
    while (pids := service.pids()) and time.monotonic() < end_s:
        time.sleep(0.05)
    return [f"process {pid} is an orphan" for pid in (*pids, *leftovers())]


def main() -> None:
    """Print the faults, the states of all jobs, and what is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults_of_service")
    parser.add_argument("--database", choices=BACKENDS, default=BACKENDS[0])
    parser.add_argument("--kills", type=int, default=500, help="number of faults")
    parser.add_argument("--longest", type=float, default=30.0, help="longest outage in seconds")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    def say(words: str) -> None:
        print(words, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        report = run(
            Path(folder), options.database, options.kills, options.seed, say, options.longest
        )
    print(f"{report.n_jobs} accepted jobs, {report.n_refused} refused requests")
    print(f"{dict(report.faults)}, {dict(report.states)}")
    print("\n".join(report.wrong) or "nothing is wrong")
    sys.exit(bool(report.wrong))


if __name__ == "__main__":
    main()
