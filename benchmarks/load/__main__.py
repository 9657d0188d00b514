"""Play a class of students at a server, and report what they had to wait for.

    python -m benchmarks.load [--students 100] [--minutes 10] [--active 30] [--call 60] [--seed 1]
        [--url URL | --workers 2 [--hosts 2] [--database-url URL]]
        [--json FILE] [--picture FILE.svg]

Without `--url`, the run starts a server as `compilarium serve` does, with its own data folder and a
free port. `--hosts 2` starts a web server and two supervisors in two network namespaces, for which
it must run as root; a PostgreSQL database must accept connections from 10.203.77.0/24.

Each student is a session with its own cookie, and at most 6 connections. Students open the page,
upload models of their own, compile, follow the events, walk the stages, open panes, cancel, reload,
share and open links, and pause in between. At most `--active` of them compile at the same time.
Every `--call` seconds the teacher asks the class to compile, so that all seats are taken at once.

Each answer other than 2xx, 3xx or a rate limit (429) is an error. The exit code is 1 if a criterion
is not met. For valid figures, the machine should be idle otherwise.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from benchmarks.load.client import Browser
from benchmarks.load.lesson import Lesson
from benchmarks.load.picture import svg
from benchmarks.load.report import lines
from benchmarks.load.sampling import Sampler, stored_jobs
from benchmarks.load.servers import Served, Wish, one_host, two_hosts
from benchmarks.load.site import explore
from benchmarks.load.student import Student
from benchmarks.load.tally import Tally
from benchmarks.load.verdict import Run, criteria, to_json

_ARRIVAL_S = 30.0
"""The students open the page within this time, or the first fifth of a shorter lesson."""
_LAST_S = 120.0
"""The longest time for which a compilation may continue after the end of the lesson."""


async def play(served: Served, options: argparse.Namespace) -> Run:
    """Play a lesson. Errors: ValueError if the server has no page."""
    tally = Tally()
    seconds = 60.0 * options.minutes
    first = Browser(served.url, Tally(), 0.0)
    site = await explore(first)
    await first.close()
    lesson = Lesson(seconds, options.active, options.seed, options.call, options.pace)
    sampler = Sampler(served, every_s=min(5.0, seconds / 10))
    watching = [asyncio.create_task(each) for each in (sampler.run(), sampler.watch_lag())]
    chance = random.Random(options.seed)
    arrival_s = min(_ARRIVAL_S, seconds / 5) / options.pace
    students = [
        asyncio.create_task(
            Student(
                Browser(served.url, tally, lesson.start_s), site, lesson, options.seed * 1000 + i
            ).live(chance.uniform(0, arrival_s))
        )
        for i in range(options.students)
    ]
    try:
        await lesson.teach()
        _, late = await asyncio.wait(students, timeout=_LAST_S)
    finally:
        for each in (*watching, *students):
            each.cancel()
        ended = await asyncio.gather(*students, return_exceptions=True)
        await asyncio.gather(*watching, return_exceptions=True)
    for each in ended:
        if isinstance(each, Exception):
            raise each
    if late:
        tally.defects[f"students who still waited {_LAST_S:g} s after the end"] += len(late)
    shown = {name: value for name, value in vars(options).items() if name != "database_url"}
    stored = await asyncio.to_thread(stored_jobs, served)
    return Run(
        {name: str(value) if isinstance(value, Path) else value for name, value in shown.items()},
        tally, lesson, sampler.samples, sampler.lags_s, sampler.spent(), stored,
    )  # fmt: skip


@contextmanager
def served(options: argparse.Namespace) -> Generator[Served]:
    """Start the server that the options name, or use that of `--url`."""
    if options.url:
        yield Served(options.url.rstrip("/"))
        return
    with tempfile.TemporaryDirectory(prefix="compilarium-load-") as folder:
        wish = Wish(Path(folder), options.workers, options.database_url)
        start = two_hosts if options.hosts == 2 else one_host
        try:
            with start(wish) as found:
                yield found
        finally:
            for log in sorted(Path(folder).glob("*.log")):
                with suppress(OSError):
                    sys.stderr.write(_last_lines(log))


def _last_lines(log: Path, n: int = 20) -> str:
    """Return the end of what a server has logged: it logs only warnings and errors."""
    found = log.read_text(errors="replace").splitlines()
    return "".join(f"{log.name}: {line}\n" for line in found[-n:])


def parser() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    found = argparse.ArgumentParser(
        prog="python -m benchmarks.load",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    found.add_argument("--students", type=int, default=100)
    found.add_argument("--minutes", type=float, default=10.0)
    found.add_argument("--active", type=int, default=30, help="compilations at the same time")
    found.add_argument("--call", type=float, default=60.0, metavar="S", help="0: never")
    found.add_argument("--pace", type=float, default=1.0, help="factor of all pauses")
    found.add_argument("--seed", type=int, default=1)
    found.add_argument("--url", default="", help="a running server; without its memory")
    found.add_argument("--workers", type=int, default=2, help="workers of each supervisor")
    found.add_argument("--hosts", type=int, choices=(1, 2), default=1)
    found.add_argument("--database-url", default="", help="default: SQLite")
    found.add_argument("--json", type=Path, metavar="FILE")
    found.add_argument("--picture", type=Path, metavar="FILE")
    return found


def write(run: Run, options: argparse.Namespace) -> None:
    """Print the report, and write the files."""
    for line in lines(run):
        print(line)
    if options.json:
        found: dict[str, Any] = to_json(run)
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    if options.picture:
        options.picture.write_text(svg(run))


def main() -> None:
    """Run the load, and report it."""
    options = parser().parse_args()
    with served(options) as found:
        run = asyncio.run(play(found, options))
    write(run, options)
    sys.exit(any(each.is_met is False for each in criteria(run)))


if __name__ == "__main__":
    main()
