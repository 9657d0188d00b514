"""The machines that run jobs: their descriptions, and which machine may run a job.

A job about a compiled result runs on the same kind of machine as the compilation. It generates the
code again, since no machine code is stored, and the code depends on the kind.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from app.config import Settings
from app.store.jobs.record import Job
from app.store.jobs.supervisors import Machine
from app.wire.profiles import features_of
from app.wire.shapes.facts import MachineFacts
from compiler.errors import CompileError
from compiler.machine.keep import kind_of, processor
from compiler.targets.target import host

SEEN_S = 60.0
"""A machine whose supervisor has not reported for this time in seconds is not at work."""


def this_machine(settings: Settings) -> Machine:
    """Return the description of this machine."""
    target = host()
    facts: MachineFacts = {
        "processor": processor(),
        "triple": target.triple,
        "features": features_of(target),
        "vector_bytes": target.vector_bytes,
        "n_processors": os.cpu_count() or 1,
        "l1d_bytes": target.l1d_bytes,
        "l2_bytes": target.l2_bytes,
        "l3_bytes": target.l3_bytes,
    }
    return Machine(settings.used_machine_name, kind_of(target), {**facts})


def needed_kind(examined: Iterable[Job], at_work: Iterable[Machine]) -> str:
    """Return the kind of machine that a job about other jobs needs; "" for any.

    Without any machine at work, the job waits for one. Errors: E-REQUEST-BODY for jobs of different
    kinds of machines, whose times are not comparable; E-MACHINE-ABSENT if machines are at work, and
    none is of this kind.
    """
    kinds = {job.processor: job for job in examined if job.processor}
    if len(kinds) > 1:
        names = " and ".join(sorted(job.machine for job in kinds.values()))
        raise CompileError(
            "E-REQUEST-BODY",
            f"the compilations ran on different kinds of machines, {names}, so their times are "
            "not comparable",
            hint="compile both again",
        )
    present = {machine.processor for machine in at_work}
    for kind, job in kinds.items():
        if present and kind not in present:
            raise absent(job.machine)
    return next(iter(kinds), "")


def absent(name: str = "") -> CompileError:
    """Return the error of a job whose kind of machine is not at work."""
    like = f" like {name}" if name else ""
    message = f"no machine{like} is at work, which compiled the model"
    return CompileError("E-MACHINE-ABSENT", message, hint="compile the model again")
