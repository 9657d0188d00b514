"""Preparations of a job: tasks of trusted.py that the server runs before the job's own task."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from app.jobs.inputs import TaskMaker
from app.jobs.limits import Limits
from app.jobs.parts import Parts
from app.jobs.profile import ProfileRequest
from app.jobs.result_store import ResultStore
from app.jobs.task import MODEL, Task
from app.jobs.trusted import MACHINE_PART
from app.jobs.weights import remove_older, weights_file
from app.samples import Sample
from app.store.jobs.record import Job
from compiler.machine.keep import keep
from compiler.machine.machine import Machine

WEIGHTS_LIMIT_BYTES = 1_000_000_000
"""Maximum size of a sample with drawn weights, in bytes."""


@dataclass(frozen=True, slots=True)
class Preparation:
    """A trusted task, the place of its results, and the function that takes them over.

    A job can run without an optional preparation.
    """

    task: Task
    store: ResultStore
    keep: Callable[[], None]
    is_optional: bool


def preparations(job: Job, maker: TaskMaker, limits: Limits) -> Iterator[Preparation]:
    """Yield the preparations that precede the task of a job. Errors: those of finding its
    inputs."""
    if sample := maker.undrawn(job):
        yield _weights(sample, maker, limits)
    if job.request["kind"] == ProfileRequest.kind and job.request["machine"]:
        yield _machine(job, limits)


def _weights(sample: Sample, maker: TaskMaker, limits: Limits) -> Preparation:
    """Draw the weights of a sample; without them, the child of the job draws the weights itself."""
    file = weights_file(maker.places.weights, sample)
    most = max(limits.output_bytes, WEIGHTS_LIMIT_BYTES)
    request = {"kind": "draw_weights", "seed": sample.seed, "file": file.name}
    task = Task(request, replace(limits, output_bytes=most), {MODEL: sample.path.resolve()})
    store = ResultStore(file.parent, most, files=(file.name,))
    return Preparation(task, store, lambda: remove_older(file), is_optional=True)


def _machine(job: Job, limits: Limits) -> Preparation:
    """Measure the machine, and store its speeds for all programs of the user."""

    def take() -> None:
        keep(Machine.from_json(Parts(job.folder).read(MACHINE_PART)))

    task = Task({"kind": "measure_machine"}, limits)
    store = ResultStore(job.folder, limits.output_bytes)
    return Preparation(task, store, take, is_optional=False)
