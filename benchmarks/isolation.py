"""The time of jobs inside the sandbox, outside, and outside with a cache of machine code.

    python -m benchmarks.isolation [--rounds 15] [KIND:SAMPLE ...]

Servers run in this process, one for each way; KIND is compile or inspect. In each round, each way
runs each job once, in random order. The differences to the first way are of the same round. The
seeds of random inputs differ, so no answer is reused; the generated code is the same in each round.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from flask.testing import FlaskClient

from app import create_app
from app.jobs.enclosure import Enclosure
from app.jobs.fork_server import ENVIRONMENT, ForkServer
from app.jobs.inside import limits_of
from app.jobs.isolation import Isolation
from app.jobs.queue import JobQueue
from app.jobs.task import Task

JOBS = ("inspect:digits_cnn", "compile:digits_cnn", "compile:squeezenet")
QUICK = {"measure": False, "check": False, "accuracy": False}
INSIDE, OUTSIDE, CACHED = "inside", "outside", "outside, cached"


class Unsandboxed(Isolation):
    """Encloses each child in its limits alone."""

    def enclose(self, task: Task) -> tuple[Enclosure, Task]:
        """Return an enclosure without a sandbox."""
        return Enclosure(limits_of(task.limits)), task


class Server:
    """An application whose children run in one way."""

    def __init__(self, way: str, folder: Path) -> None:
        app = create_app({"data_folder": folder / "data", "n_workers": 1, "n_jobs_kept": 1000})
        self.client: FlaskClient = app.test_client()
        self.jobs: JobQueue = app.extensions["jobs"]
        runner = self.jobs.runner
        cache = {"COMPILARIUM_CACHE": str(folder / "cache")} if way == CACHED else {}
        runner.fork_server = ForkServer(
            runner.fork_server.module, folder / "logs", {**ENVIRONMENT, **cache}
        )
        if way != INSIDE:
            runner.isolation = Unsandboxed()

    def seconds(self, job: str, seed: int) -> float:
        """Run a job, and return the time from its request to its end."""
        kind, _, sample = job.partition(":")
        body = {"kind": kind, "model": {"sample": sample}, "options": {**QUICK, "seed": seed}}
        begin = time.perf_counter()
        answer = self.client.post("/api/v1/jobs", json=body)
        made = self.jobs.find(answer.get_json()["id"])
        n, is_over = 0, False
        while not is_over:
            events, is_over = self.jobs.events_after(made, n, 60.0)
            n += len(events)
        made = self.jobs.find(made.id)
        assert made.state == "succeeded", made.error
        return time.perf_counter() - begin


Times = Mapping[tuple[str, str], list[float]]


def measured(servers: Mapping[str, Server], jobs: Sequence[str], n_rounds: int) -> Times:
    """Return the times by way and job, after a round that only fills caches."""
    times: Times = {(way, job): [] for way in servers for job in jobs}
    for number in range(n_rounds + 1):
        for job in jobs:
            for way in random.sample([*servers], len(servers)):
                seconds = servers[way].seconds(job, number)
                if number:
                    times[way, job].append(seconds)
    return times


def rows(times: Times, jobs: Sequence[str]) -> Iterator[str]:
    """Yield a line for each job and way: minimum and median, and the differences to `INSIDE`."""
    for job in jobs:
        inside = times[INSIDE, job]
        yield f"{job}, {INSIDE}: {_summary(inside)}"
        for way in (OUTSIDE, CACHED):
            outside = times[way, job]
            differences = [a - b for a, b in zip(inside, outside, strict=True)]
            minima = 1e3 * (min(inside) - min(outside))
            yield (
                f"{job}, {way}: {_summary(outside)}; inside takes {minima:+.0f} ms (minima), "
                f"{1e3 * statistics.median(differences):+.0f} ms (median of the differences)"
            )


def _summary(seconds: Sequence[float]) -> str:
    return f"{1e3 * min(seconds):.0f} ms (minimum), {1e3 * statistics.median(seconds):.0f} (median)"


def main() -> None:
    """Print the times."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.isolation", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("jobs", nargs="*", metavar="KIND:SAMPLE", default=JOBS)
    options = parser.parse_args()
    with ExitStack() as stack:
        servers: dict[str, Server] = {}
        for way in (INSIDE, OUTSIDE, CACHED):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            servers[way] = Server(way, folder)
            stack.callback(servers[way].jobs.stop)
        for line in rows(measured(servers, options.jobs, options.rounds), options.jobs):
            print(line, flush=True)


if __name__ == "__main__":
    main()
