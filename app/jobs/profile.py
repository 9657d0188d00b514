"""The job that times a compiled model again: whole runs and each kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.jobs.parts import Parts
from app.jobs.recompile import recompiled
from app.jobs.telling import sparsely
from app.jobs.worker import Say
from app.jobs.worker_slot import measuring
from app.rounds import Tell, timed_rounds
from app.wire import profiles
from app.wire.asked import Asked, Sent, asked
from app.wire.fields import FLAG, number
from compiler.machine.keep import keep, processor
from compiler.machine.measure import ROUNDS, measure

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


def profile_model(
    request: Mapping[str, Any], folder: Path, task: Mapping[str, Any], say: Say
) -> None:
    """Repeat a finished compilation, and time the program.

    Errors: E-RESULT-ABSENT if the compilation was evicted or would now give other kernels, and the
    errors of the model or its inputs.
    """
    if request["machine"]:
        say("phase", {"phase": "machine", "words": "measuring this machine"})
        with measuring(say, 1):
            keep(measure(processor(), _counted(sparsely(say))))
    say("phase", {"phase": "code", "words": "generating the code again"})
    again = recompiled(Path(request["compiled"]))
    program, options = again.program, again.options
    inputs = again.inputs()
    say("phase", {"phase": "measure", "words": "timing the kernels"})
    threads = options["threads"]
    with measuring(say, threads) as slot:
        rounds = timed_rounds(
            program, inputs, request["seconds"], MOST_ROUNDS, sparsely(say), slot.pause
        )
    payload = profiles.profile(program, rounds, options, slot.disturbance())
    Parts(folder).write("profile", payload)
    say("ready", {"part": "profile"})


def _counted(tell: Tell) -> Callable[[str], None]:
    """Return a function that counts measurements of the machine, and reports each as a finished
    round."""
    done = -1  # the first message is about compiling the probes

    def told(what: str) -> None:
        nonlocal done
        done += 1
        tell(done, done / ROUNDS)

    return told
