"""The kinds of jobs that a child can do. Importing this imports all that a job may need."""

from __future__ import annotations

import compiler.driver
import compiler.runtime.build
from app.jobs.bisect import bisect_compiled
from app.jobs.check import check_compiled
from app.jobs.compile import compile_model, host_facts, inspect_model
from app.jobs.export import export_stage
from app.jobs.place import place_model
from app.jobs.profile import profile_model
from app.jobs.schedule import run_schedule
from app.jobs.targets import make_targets
from app.jobs.tune import tune_model
from app.jobs.worker import Work

assert compiler.driver.__doc__, "a waiting child has the compiler in memory"
assert compiler.runtime.build.__doc__, "and the way to machine code"

KINDS: dict[str, Work] = {
    "compile": compile_model,
    "inspect": inspect_model,
    "place": place_model,
    "check": check_compiled,
    "bisect": bisect_compiled,
    "profile": profile_model,
    "schedule": run_schedule,
    "export": export_stage,
    "targets": make_targets,
    "tune": tune_model,
}

host_facts()  # asks LLVM, which takes a moment the first time
