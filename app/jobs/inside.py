"""The sandbox of a child: its limits, and the complete list of the server's files that it shows.

An input of the task is a file or folder at its own place below `/in`, and read-only. In the folder
of a job, only the parts of its result are visible. The program's packages keep their places, so a
forked child can import further modules.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import sandbox
from app.jobs.enclosure import NOTHING_CACHED
from app.jobs.limits import Limits
from app.jobs.parts import PARTS
from app.jobs.task import SAMPLES, Task
from compiler.errors import CompileError
from compiler.machine.database import default_path

INPUTS = Path("/in")
SCRATCH_BYTES = 64 * 1024 * 1024
"""Size of a child's folder for temporary files, which is in memory."""
_N_PROCESSES = 256
"""Processes and threads of a child: programs with many threads, and the other runtimes."""
_CPU_SLACK_S = 5
"""Slack over the wall-clock limit, so that the server's clock ends a child first."""
_PACKAGES = ("app", "compiler", "course")


def limits_of(limits: Limits) -> sandbox.Limits:
    """Return the limits of a sandbox for a child with these limits."""
    n_cpus = os.cpu_count() or 1
    return sandbox.Limits(
        seconds=limits.seconds,
        cpu_seconds=limits.seconds * n_cpus + _CPU_SLACK_S,
        memory_bytes=int(limits.memory_bytes),
        scratch_bytes=SCRATCH_BYTES,
        n_processes=_N_PROCESSES,
    )


def view_of(task: Task) -> tuple[sandbox.Inputs, Task]:
    """Return the inputs that the sandbox of a task shows, and the task with the paths inside.

    Errors: E-RESULT-ABSENT if an input does not exist any more.
    """
    folders = dict(program())
    files: dict[str, bytes] = {}
    inside: dict[str, Path] = {}
    kept = default_path()
    own = kept and kept.resolve()
    for name, path in task.inputs.items():
        place = INPUTS / name
        if path == own:
            inside[name] = place / path.name
            files[str(inside[name])] = _copy(path)
        elif path.is_file():
            inside[name] = place / path.name
            folders[str(inside[name])] = path
        elif name == SAMPLES:
            inside[name] = place
            folders[str(place)] = path
        else:
            inside[name] = place
            folders[str(place / PARTS)] = path / PARTS
    _lend(folders)
    return sandbox.Inputs(files, folders, NOTHING_CACHED), replace(task, inputs=inside)


def program_alone() -> sandbox.Inputs:
    """Return the view of a sandbox without inputs."""
    return sandbox.Inputs(folders=program(), environment=NOTHING_CACHED)


@cache
def program() -> Mapping[str, Path]:
    """Return the packages of the program by their places inside, which are those outside."""
    found = [find_spec(name) for name in _PACKAGES]
    places = [Path(spec.origin).parent for spec in found if spec is not None and spec.origin]
    return {str(place): place for place in places}


def _lend(folders: Mapping[str, Path]) -> None:
    for target, path in folders.items():
        if not target.startswith(f"{INPUTS}/"):
            continue
        try:
            sandbox.lend(str(path))
        except FileNotFoundError:
            message = "the server no longer keeps an input of the job"
            raise CompileError("E-RESULT-ABSENT", message) from None


def _copy(database: Path) -> bytes:
    """Return the content of the user's own database, even while another process writes it."""
    address = f"{database.absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, timeout=10, uri=True)) as connection:
        return connection.serialize()
