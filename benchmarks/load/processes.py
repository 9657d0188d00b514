"""The processes of a server as Linux reports them: their roles, memory, descriptors and time."""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Role = Literal["server", "web", "supervisor", "fork server", "child"]
STEADY: tuple[Role, ...] = ("server", "web", "supervisor", "fork server")
"""The processes that live as long as the server; children live as long as their job."""
_FORK_SERVER = "app.jobs.fork_server_process"
_SUPERVISOR = ("app.jobs.supervisor_process", "work")
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Process:
    """A process. `seconds` is the processor time of itself and of its ended children."""

    pid: int
    parent: int
    words: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Use:
    """What the processes of a role use. `pss` shares common pages among their users. Bytes."""

    n: int = 0
    pss: int = 0
    n_files: int = 0

    def __add__(self, other: Use) -> Use:
        return Use(self.n + other.n, self.pss + other.pss, self.n_files + other.n_files)


def below(roots: Collection[int]) -> dict[int, Process]:
    """Return the processes of these trees, by id."""
    everyone = [each for name in os.listdir("/proc") if name.isdigit() and (each := _read(name))]
    children: dict[int, list[Process]] = {}
    for each in everyone:
        children.setdefault(each.parent, []).append(each)
    found = {each.pid: each for each in everyone if each.pid in roots}
    fresh = list(found.values())
    while fresh:
        fresh = [child for each in fresh for child in children.get(each.pid, ())]
        found.update((each.pid, each) for each in fresh)
    return found


def _read(name: str) -> Process | None:
    folder = Path("/proc", name)
    try:
        after = (folder / "stat").read_text().rpartition(")")[2].split()
        words = tuple((folder / "cmdline").read_text().split("\0"))
    except (OSError, UnicodeDecodeError):  # it has just ended
        return None
    ticks = sum(map(int, after[11:15]))
    return Process(int(name), int(after[1]), words, ticks * _TICK_S)


def role(process: Process, known: dict[int, Process], roots: Collection[int]) -> Role:
    """Return the role of a process among those of its tree."""
    parent = known.get(process.parent)
    if process.pid in roots:
        return "supervisor" if "work" in process.words else "server"
    if _FORK_SERVER in process.words:
        is_forked = parent is not None and _FORK_SERVER in parent.words
        return "child" if is_forked else "fork server"
    if _SUPERVISOR[0] in process.words:
        return "supervisor"
    is_worker = parent is not None and parent.pid in roots and process.words == parent.words
    return "web" if is_worker else "child"


def uses(roots: Collection[int]) -> dict[Role, Use]:
    """Return what the processes of these trees use, by role."""
    known = below(roots)
    found: dict[Role, Use] = {}
    for each in known.values():
        its = role(each, known, roots)
        found[its] = found.get(its, Use()) + Use(1, _pss(each.pid), _n_files(each.pid))
    return found


def seconds(roots: Collection[int]) -> float:
    """Return the processor time of these trees so far, with their ended processes."""
    return sum(each.seconds for each in below(roots).values())


def machine_seconds() -> tuple[float, float]:
    """Return the processor time of this machine so far: in use, and in all."""
    fields = list(map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]))
    idle = fields[3] + fields[4]
    return (sum(fields) - idle) * _TICK_S, sum(fields) * _TICK_S


def _pss(pid: int) -> int:
    """Return the proportional set size; the resident set size where that is not permitted."""
    folder = Path("/proc", str(pid))
    with suppress(OSError, IndexError, ValueError):
        for line in (folder / "smaps_rollup").read_text().split("\n"):
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    with suppress(OSError, IndexError, ValueError):
        return int((folder / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _n_files(pid: int) -> int:
    with suppress(OSError):
        return len(os.listdir(f"/proc/{pid}/fd"))
    return 0
