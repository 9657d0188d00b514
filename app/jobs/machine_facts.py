"""The complete list of the machine's files whose content reaches a child, besides its inputs.

The fork server loads facts before its first fork, so its children have them in memory. Other facts
come with the task. A child reads few of these files in its sandbox. Without the files, a job gives
the same results, apart from speed and stated disturbances.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from app.jobs.task import Speeds, Task
from compiler.machine import keep
from compiler.machine import name as machine_name
from compiler.machine.database import default_path
from compiler.machine.machine import Machine
from compiler.memory.planners import native
from compiler.targets.memory import machine_bytes
from compiler.targets.target import CACHES_FOLDER, host
from sandbox.filters import filter_program


@dataclass(frozen=True, slots=True)
class Place:
    """A file or folder of the machine, its name in documents, and its content for a child.

    `path` is None if caching is disabled. `way` describes the child's access to the file.
    """

    name: str
    path: Path | None
    words: str
    way: str


IN_MEMORY = "has it in memory"
WITH_TASK = "receives it with its task"
READS = "reads it in the sandbox"


def load_facts() -> None:
    """Load the facts about the machine into this process, for itself and its later forks."""
    host()
    machine_bytes()
    keep.processor()
    filter_program()


def speeds() -> Speeds | None:
    """Return the measured speeds of this machine, for a task; None if it was not measured."""
    keep.refresh()
    at = keep.measured_at()
    return None if at is None else Speeds(keep.known().to_json(), at)


def take_facts(task: Task) -> None:
    """Use the facts that came with a task in this process."""
    machine_name.give(task.machine)
    if task.speeds is not None:
        keep.give(Machine.from_json(task.speeds.machine), task.speeds.measured_at)


def places() -> tuple[Place, ...]:
    """Return the places of the machine that reach children."""
    return (
        _system("/proc/cpuinfo", "the name of the processor", IN_MEMORY),
        _system(CACHES_FOLDER, "the sizes of the caches", IN_MEMORY),
        _system("/proc/stat", "the load of the processors during a measurement", READS),
        _system("/proc/self/statm", "the memory of the child, during a bisection", READS),
        Place(
            "`measured/machine-*.json` in the cache folder",
            keep.path(),
            "the measured speeds of this machine",
            WITH_TASK,
        ),
        Place(
            "`measured/schedules.sqlite` in the cache folder",
            default_path(),
            "the schedules that the user has tuned on this machine",
            WITH_TASK,
        ),
        Place(
            "`__pycache__` of the memory planners",
            Path(native.__file__).parent / "__pycache__",
            "the searches of planners that the set-up has compiled",
            READS,
        ),
    )


def _system(path: str, words: str, way: str) -> Place:
    return Place(f"`{path}`", Path(path), words, way)
