"""The kinds of jobs. Importing this module imports everything that a job may need.

To add a kind of job, write a file in this folder with its request and function, and add a row here.
The worker's table, the route's request body and the API's description are derived from the row.
"""

from __future__ import annotations

import compiler.driver
import compiler.runtime.build
from app.jobs.bisect import BisectRequest, bisect_compiled
from app.jobs.check import CheckRequest, check_compiled
from app.jobs.comparison import ComparisonRequest, compare_compiled
from app.jobs.compile import compile_model, host_facts, inspect_model
from app.jobs.export import ExportRequest, export_stage
from app.jobs.peer import PeerRequest, compare_with_peer
from app.jobs.place import PlaceRequest, place_model
from app.jobs.profile import ProfileRequest, profile_model
from app.jobs.run import RunRequest, run_compiled
from app.jobs.schedule import ScheduleRequest, run_schedule
from app.jobs.targets import TargetsRequest, make_targets
from app.jobs.tune import TuneRequest, tune_model
from app.jobs.worker import Work
from app.wire.asked import Asked

ABOUT_A_RESULT: dict[type[Asked], Work] = {
    PlaceRequest: place_model,
    CheckRequest: check_compiled,
    BisectRequest: bisect_compiled,
    ProfileRequest: profile_model,
    ComparisonRequest: compare_compiled,
    PeerRequest: compare_with_peer,
    TargetsRequest: make_targets,
    TuneRequest: tune_model,
    ScheduleRequest: run_schedule,
    ExportRequest: export_stage,
    RunRequest: run_compiled,
}

KINDS: dict[str, Work] = {
    "compile": compile_model,
    "inspect": inspect_model,
    **{asked.kind: work for asked, work in ABOUT_A_RESULT.items()},
}


def warm_up() -> None:
    """Import everything that a job may need, and call the functions whose first call is slow."""
    assert compiler.driver.__doc__, "a waiting child has the compiler in memory"
    assert compiler.runtime.build.__doc__, "and the way to machine code"
    host_facts()
