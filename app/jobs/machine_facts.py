"""What a child reads of the machine, besides its task: the only list of these places.

The fork server loads the facts before each fork, so its children have them in memory. Without the
other places, a job gives the same results, apart from speed and stated disturbances.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from compiler.codegen.jit import ObjectStore
from compiler.machine import keep
from compiler.machine.database import default_path
from compiler.targets.memory import machine_bytes
from compiler.targets.target import CACHES_FOLDER, host


@dataclass(frozen=True, slots=True)
class Place:
    """A file or folder of the machine, and what a child finds there.

    `is_loaded`: the fork server reads the place, so a child need not. `is_written`: a child also
    writes there.
    """

    path: Path
    words: str
    is_loaded: bool = False
    is_written: bool = False


def load_facts() -> None:
    """Load the facts about the machine into this process, for itself and its later forks."""
    host()
    machine_bytes()
    keep.processor()
    keep.refresh()


def places() -> Iterator[Place]:
    """Yield the places of the machine that children read; disabled caches are omitted."""
    yield Place(Path("/proc/cpuinfo"), "the name of the processor", is_loaded=True)
    yield Place(Path(CACHES_FOLDER), "the sizes of the caches", is_loaded=True)
    if speeds := keep.path():
        yield Place(speeds, "the measured speeds of this machine", is_loaded=True)
    if database := default_path():
        yield Place(database, "the user's schedules, tuned on this machine")
    if objects := ObjectStore.default().directory:
        yield Place(objects, "the cache of machine code", is_written=True)
    yield Place(Path("/proc/stat"), "the load of the processors during a measurement")
    yield Place(Path("/etc/os-release"), "the name of the system, which other runtimes report")
    yield Place(Path("/proc/self/statm"), "the memory of the child, while it bisects")
