"""What a child reads of the machine, besides its task: the only list of these places.

The fork server loads the facts before each fork, so its children have them in memory. Without the
other places, a job gives the same results, apart from speed and stated disturbances.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from compiler.codegen.jit import ObjectStore
from compiler.machine import keep
from compiler.machine.database import default_path
from compiler.memory.planners import native
from compiler.targets.memory import machine_bytes
from compiler.targets.target import CACHES_FOLDER, host


@dataclass(frozen=True, slots=True)
class Place:
    """A file or folder of the machine, its name in documents, and what a child finds there.

    `path` is None if caching is disabled. `is_loaded`: the fork server reads the place, so a child
    need not. `is_written`: a child also writes there.
    """

    name: str
    path: Path | None
    words: str
    is_loaded: bool = False
    is_written: bool = False


def load_facts() -> None:
    """Load the facts about the machine into this process, for itself and its later forks."""
    host()
    machine_bytes()
    keep.processor()
    keep.refresh()


def places() -> tuple[Place, ...]:
    """Return the places of the machine that children read."""
    return (
        _system("/proc/cpuinfo", "the name of the processor", is_loaded=True),
        _system(CACHES_FOLDER, "the sizes of the caches", is_loaded=True),
        _system("/proc/stat", "the load of the processors during a measurement"),
        _system("/proc/self/statm", "the memory of the child, during a bisection"),
        _system("/etc/os-release", "the name of the system, for other runtimes"),
        Place(
            "`measured/machine-*.json` in the cache folder",
            keep.path(),
            "the measured speeds of this machine",
            is_loaded=True,
        ),
        Place(
            "`measured/schedules.sqlite` in the cache folder",
            default_path(),
            "the schedules that the user has tuned on this machine",
        ),
        Place(
            "`objects` in the cache folder",
            ObjectStore.default().files.directory,
            "the cache of machine code",
            is_written=True,
        ),
        Place(
            "`__pycache__` of the memory planners",
            Path(native.__file__).parent / "__pycache__",
            "the compiled searches of planners, if the package numba is installed",
            is_written=True,
        ),
    )


def _system(path: str, words: str, *, is_loaded: bool = False) -> Place:
    return Place(f"`{path}`", Path(path), words, is_loaded)
