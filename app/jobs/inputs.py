"""The inputs of tasks: read-only files and folders that the server finds for a child.

Each kind of job declares the names of its inputs (kinds.py). Only this module knows their places in
the data folder. A child receives their paths in its task, and reads nothing else there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from app.blob_store import blobs_of
from app.config import Settings
from app.jobs.kinds import KINDS
from app.jobs.limits import Limits
from app.jobs.machine_facts import speeds
from app.jobs.stored_results import file_of, folder_for
from app.jobs.task import (
    ARRAYS,
    COMPILED,
    LABELLED,
    MODEL,
    OTHER,
    OTHER_SCHEDULES,
    SAMPLES,
    SCHEDULES,
    Source,
    Task,
    array_input,
)
from app.jobs.tune import SCHEDULES as SCHEDULES_FILE
from app.jobs.weights import weights_file
from app.paths import site_folder
from app.samples import Sample, find_sample
from app.store.blobs.interface import Blobs
from app.store.jobs.record import Job
from app.uploads import UploadStore
from compiler.errors import CompileError
from compiler.machine.database import usable_path

COPIES = "copies"
"""The folder of a job for copies of the results of jobs that still run on other machines."""
Found = Iterator[tuple[str, Path]]


@dataclass(frozen=True, slots=True)
class Places:
    """The places of inputs on the server: uploads, jobs by id, their results, and drawn weights."""

    uploads: UploadStore
    job: Callable[[str], Job]
    weights: Path
    blobs: Blobs
    machine: str
    """The name of this machine."""

    @staticmethod
    def of(settings: Settings, job: Callable[[str], Job]) -> Places:
        """Return the places of an installation."""
        uploads, weights = UploadStore.of(settings), settings.data_folder / "models"
        machine = settings.used_machine_name
        return Places(uploads, job, weights, blobs_of(settings), machine)

    def schedules(self, tuning_id: str) -> Path:
        """Return the file with a tuning job's schedules.

        Errors: E-RESULT-ABSENT, E-REQUEST-UNKNOWN.
        """
        try:
            return file_of(self.blobs, self.job(tuning_id), SCHEDULES_FILE)
        except CompileError as e:
            message = f"the job {tuning_id} has found no schedules"
            raise e if e.code != "E-RESULT-ABSENT" else CompileError(e.code, message) from None


class TaskMaker:
    """Makes the tasks of children: finds their inputs."""

    def __init__(self, places: Places) -> None:
        self.places = places

    def task(self, job: Job, private: Mapping[str, Any], limits: Limits) -> Task:
        """Return the task of a job; `private` are facts that only the child receives.

        Errors: E-RESULT-ABSENT for an input that the server no longer keeps, E-REQUEST-UNKNOWN.
        """
        search = _Search(self.places, job)
        declared = KINDS[job.request["kind"]].inputs
        inputs = dict(pair for name in declared for pair in _FINDERS[name](search))
        return Task(
            {**job.request, **private},
            limits,
            {name: path.resolve() for name, path in inputs.items()},
            {name: search.examined(name).request for name in (COMPILED, OTHER) if name in inputs},
            search.source if MODEL in inputs else None,
            speeds(),
            self.places.machine,
        )

    def undrawn(self, job: Job) -> Sample | None:
        """Return the sample of a job whose weights must be drawn, unless they are stored."""
        search = _Search(self.places, job)
        if MODEL not in KINDS[job.request["kind"]].inputs or "sample" not in search.choice:
            return None
        return find_sample(search.source.id) if search.source.seed is not None else None


class _Search:
    """The search for the inputs of one job."""

    def __init__(self, places: Places, job: Job) -> None:
        self.places, self.job = places, job

    def examined(self, name: str) -> Job:
        """Return a job that this job examines. Errors: E-RESULT-ABSENT if it was evicted."""
        try:
            return self.places.job(self.job.request["job" if name == COMPILED else "other"])
        except CompileError as e:
            message = "the server no longer keeps the compilation"
            raise CompileError("E-RESULT-ABSENT", message, notes=[e.message]) from None

    @cached_property
    def compilation(self) -> Job:
        """The job that compiled the model: the examined job, or this job itself."""
        return self.examined(COMPILED) if "job" in self.job.request else self.job

    @cached_property
    def choice(self) -> Mapping[str, str]:
        """The choice of the model: `{"sample": id}` or `{"upload": id}`."""
        return self.compilation.request["model"]

    @cached_property
    def source(self) -> Source:
        """The facts about the model; `seed` is None if the drawn weights are stored."""
        if "upload" in self.choice:
            upload, name = self.places.uploads.find(self.choice["upload"]), self.compilation
            return Source("upload", upload.id, name.model_name, upload.bytes)
        sample = find_sample(self.choice["sample"])
        is_drawn = sample.seed is not None and self.weights().is_file()
        return Source(
            "sample",
            sample.id,
            sample.id,
            sample.path.stat().st_size,
            None if is_drawn else sample.seed,
            sample.input,
        )

    def weights(self) -> Path:
        """Return the file of the sample with drawn weights, which may not exist."""
        return weights_file(self.places.weights, find_sample(self.choice["sample"]))


def _folder(name: str) -> Callable[[_Search], Found]:
    def found(search: _Search) -> Found:
        copies = search.job.folder / COPIES / name
        yield name, folder_for(search.places.blobs, search.examined(name), copies)

    return found


def _model(search: _Search) -> Found:
    source = search.source
    if source.kind == "upload":
        yield MODEL, search.places.uploads.path(source.id)
        return
    sample = find_sample(source.id)
    is_drawn = sample.seed is not None and source.seed is None
    yield MODEL, search.weights() if is_drawn else sample.path


def _labelled(search: _Search) -> Found:
    test = find_sample(search.choice["sample"]).test if "sample" in search.choice else None
    if test is not None and test.is_file():
        yield LABELLED, test


def _schedules(search: _Search) -> Found:
    if file := _tuned(search, search.compilation):
        yield SCHEDULES, file


def _other_schedules(search: _Search) -> Found:
    if file := _tuned(search, search.examined(OTHER)):
        yield OTHER_SCHEDULES, file


def _tuned(search: _Search, compilation: Job) -> Path | None:
    """Return the database of schedules that a compilation names, else the user's own, if any."""
    if tuned := compilation.request.get("tuned"):
        return search.places.schedules(tuned)
    return usable_path()


def _samples(search: _Search) -> Found:
    yield SAMPLES, site_folder("samples")


def _arrays(search: _Search) -> Found:
    for number, upload in enumerate(search.job.request["inputs"].values()):
        yield array_input(number), search.places.uploads.path(upload)


_FINDERS: Mapping[str, Callable[[_Search], Found]] = {
    COMPILED: _folder(COMPILED),
    OTHER: _folder(OTHER),
    MODEL: _model,
    LABELLED: _labelled,
    SCHEDULES: _schedules,
    OTHER_SCHEDULES: _other_schedules,
    ARRAYS: _arrays,
    SAMPLES: _samples,
}
