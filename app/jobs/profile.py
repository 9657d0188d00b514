"""The job that times a compiled model again: whole runs and each kernel."""

from __future__ import annotations

from dataclasses import dataclass

from app.jobs.models import compilation_of
from app.jobs.recompile import recompiled
from app.jobs.results import Results
from app.jobs.task import COMPILED, Task
from app.jobs.telling import sparsely
from app.jobs.worker_slot import measuring
from app.rounds import timed_rounds
from app.wire import profiles
from app.wire.asked import Asked, Sent, asked
from app.wire.fields import FLAG, number

MOST_ROUNDS = 20_000


@dataclass(frozen=True, slots=True)
class ProfileRequest(Asked):
    """The request of a repeated measurement; `job` is the compilation of the model."""

    kind = "profile"
    sent = Sent(
        "ProfileOptions",
        "Approximate duration in seconds; `machine`: measure the speeds of the machine first.",
    )

    seconds: float = asked(number(0.1, 20.0), 2.0)
    machine: bool = asked(FLAG, False)


def profile_model(task: Task, results: Results) -> None:
    """Repeat a finished compilation, and time the program; see trusted.py for the machine.

    Errors: E-RESULT-ABSENT if the compilation was evicted or would now give other kernels, and the
    errors of the model or its inputs.
    """
    request, say = task.request, results.say
    say("phase", {"phase": "code", "words": "generating the code again"})
    again = recompiled(compilation_of(task), task.parts_of(COMPILED))
    program, options = again.program, again.options
    inputs = again.inputs()
    say("phase", {"phase": "measure", "words": "timing the kernels"})
    threads = options["threads"]
    with measuring(say, threads) as slot:
        rounds = timed_rounds(
            program, inputs, request["seconds"], MOST_ROUNDS, sparsely(say), slot.pause
        )
    payload = profiles.profile(program, rounds, options, slot.disturbance())
    results.write("profile", payload)
    say("ready", {"part": "profile"})
