"""The task of a child: everything that the child needs, sent as a JSON line to its standard input.

The task holds no paths except those of `inputs`, which name files and folders that the child only
reads. A child writes no files: results.py sends its results through its pipe.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from app.jobs.limits import Limits
from app.jobs.parts import Parts

# The names of inputs.
MODEL = "model"
"""The model of the compilation: an ONNX file, or a text."""
LABELLED = "labelled"
"""Labelled images for the model of a sample, if the sample has such images."""
SCHEDULES = "schedules"
"""The database of tuned schedules that the compilation names, else the user's own, if any."""
COMPILED, OTHER = "compiled", "other"
"""The folders of the examined job, and of a second job that is compared with it."""
OTHER_SCHEDULES = "other_schedules"
"""The database of tuned schedules of the second job."""
SAMPLES = "samples"
"""The folder of the models that ship with the program, which lessons name."""
ARRAYS = "arrays"
"""The files of given arrays: `array-0` for the first input of a run, and so on."""


@dataclass(frozen=True, slots=True)
class Source:
    """The model of a task: its origin, and facts that its file lacks.

    `kind` is sample or upload. `seed` is set if the file has no weights, so the child draws them.
    `labelled` is the name of the input of the labelled images; "" without such images.
    """

    kind: str
    id: str
    name: str
    n_bytes: int
    seed: int | None = None
    labelled: str = ""


@dataclass(frozen=True, slots=True)
class Speeds:
    """The measured speeds of this machine, as JSON, and the time of their measurement."""

    machine: Mapping[str, Any]
    measured_at: float


def array_input(number: int) -> str:
    """Return the name of the input that is a given array."""
    return f"array-{number}"


@dataclass(frozen=True, slots=True)
class Task:
    """The task of a child.

    `request` is the request of the job, with facts that only the child receives. `compilations` has
    the requests of the examined jobs, keyed by the input that is the folder of the job. `speeds` is
    None if this machine was not measured. `machine` is the name of the machine, which every
    measured time carries.
    """

    request: Mapping[str, Any]
    limits: Limits
    inputs: Mapping[str, Path] = field(default_factory=dict)
    compilations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    model: Source | None = None
    speeds: Speeds | None = None
    machine: str = ""
    is_stopped: threading.Event = field(default_factory=threading.Event)
    """Set when the user asks the job to end early, with its results so far."""

    @classmethod
    def from_json(cls, task: Mapping[str, Any]) -> Self:
        """Rebuild a task from `to_json`."""
        return cls(
            task["request"],
            Limits(**task["limits"]),
            {name: Path(path) for name, path in task["inputs"].items()},
            task["compilations"],
            Source(**task["model"]) if task["model"] else None,
            Speeds(**task["speeds"]) if task["speeds"] else None,
            task["machine"],
        )

    def to_json(self) -> dict[str, Any]:
        """Return the task as JSON."""
        return {
            "request": self.request,
            "limits": asdict(self.limits),
            "inputs": {name: str(path) for name, path in self.inputs.items()},
            "compilations": self.compilations,
            "model": self.model and asdict(self.model),
            "speeds": self.speeds and asdict(self.speeds),
            "machine": self.machine,
        }

    def parts_of(self, compilation: str) -> Parts:
        """Return the parts of the result of an examined job."""
        return Parts(self.inputs[compilation])
