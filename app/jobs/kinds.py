"""The kinds of jobs. Importing this module imports everything that a job may need.

To add a kind of job, write a file in this folder with its request and function, and add a row here.
The row declares the inputs that the job reads (task.py has their names), and the names of the files
that it gives back. The worker's table, the server's search for inputs, the route's request body and
the API's description are derived from the row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import compiler.driver
import compiler.runtime.build
import course.exercises
from app.jobs import bisect, export, run, tune
from app.jobs.bisect import BisectRequest, bisect_compiled
from app.jobs.check import CheckRequest, check_compiled
from app.jobs.comparison import ComparisonRequest, compare_compiled
from app.jobs.compile import compile_model, host_facts, inspect_model, versions
from app.jobs.export import ExportRequest, export_stage
from app.jobs.judge import judge_answer
from app.jobs.lesson import run_lesson
from app.jobs.peer import PeerRequest, compare_with_peer
from app.jobs.place import PlaceRequest, place_model
from app.jobs.profile import ProfileRequest, profile_model
from app.jobs.run import RunRequest, run_compiled
from app.jobs.schedule import ScheduleRequest, run_schedule
from app.jobs.targets import TargetsRequest, make_targets
from app.jobs.task import (
    ARRAYS,
    COMPILED,
    LABELLED,
    MODEL,
    OTHER,
    OTHER_SCHEDULES,
    SAMPLES,
    SCHEDULES,
)
from app.jobs.trusted import TRUSTED
from app.jobs.tune import TuneRequest, tune_model
from app.jobs.worker import Work
from app.wire.asked import Asked

Queue = Literal["interactive", "grade", "bench"]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of job: its function, and the names of its inputs and of the files it gives back.

    A machine runs at most one job of the queue `bench` at a time. `max_attempts` counts attempts
    whose supervisors died.
    """

    work: Work
    inputs: tuple[str, ...]
    files: tuple[str, ...] = ()
    queue: Queue = "interactive"
    max_attempts: int = 3
    runs_code: bool = False
    """Whether its child may ask the server to run the code of an answer (student_code.py)."""


_OF_MODEL = (COMPILED, MODEL)
_OF_PROGRAM = (COMPILED, MODEL, SCHEDULES)
_OF_TWO = (*_OF_PROGRAM, OTHER, OTHER_SCHEDULES)

ABOUT_A_RESULT: dict[type[Asked], Kind] = {
    PlaceRequest: Kind(place_model, (COMPILED,)),
    CheckRequest: Kind(check_compiled, _OF_MODEL),
    BisectRequest: Kind(bisect_compiled, _OF_MODEL, (bisect.FILE,)),
    ProfileRequest: Kind(profile_model, _OF_PROGRAM, queue="bench"),
    ComparisonRequest: Kind(compare_compiled, _OF_TWO, queue="bench"),
    PeerRequest: Kind(compare_with_peer, _OF_PROGRAM, queue="bench"),
    TargetsRequest: Kind(make_targets, (COMPILED,)),
    TuneRequest: Kind(tune_model, _OF_MODEL, (tune.SCHEDULES,), queue="bench"),
    ScheduleRequest: Kind(run_schedule, (COMPILED,)),
    ExportRequest: Kind(export_stage, _OF_MODEL, (export.FILE,)),
    RunRequest: Kind(run_compiled, (*_OF_PROGRAM, ARRAYS), (run.FILES,)),
}

KINDS: dict[str, Kind] = {
    "compile": Kind(compile_model, (MODEL, LABELLED, SCHEDULES)),
    "inspect": Kind(inspect_model, (MODEL, LABELLED)),
    "lesson": Kind(run_lesson, (SAMPLES,)),
    "judge": Kind(judge_answer, (), queue="grade", runs_code=True),
    **{asked.kind: kind for asked, kind in ABOUT_A_RESULT.items()},
}

WORKS: dict[str, Work] = {name: kind.work for name, kind in KINDS.items()} | TRUSTED
"""The functions that a child may run."""


def warm_up() -> None:
    """Import everything that a job may need, and call the functions whose first call is slow."""
    assert compiler.driver.__doc__, "a waiting child has the compiler in memory"
    assert compiler.runtime.build.__doc__, "and the way to machine code"
    assert course.exercises.__doc__, "and the kinds of exercises"
    host_facts()
    versions()
