"""The job that times a compiled model again: whole runs and each kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.jobs.compile import compiled, first_run
from app.jobs.models import asked_of, read_model, try_random_inputs
from app.jobs.parts import Parts
from app.jobs.telling import sparsely
from app.jobs.worker import Say
from app.rounds import Tell, timed_rounds
from app.wire import profiles
from app.wire.asked import Asked, Sent, asked
from app.wire.fields import FLAG, number
from app.wire.shapes.jobs import Result
from compiler.errors import CompileError
from compiler.machine.keep import keep, processor
from compiler.machine.measure import ROUNDS, measure
from compiler.runtime.assumed import shapes_that_fit
from compiler.runtime.program import Program

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
    earlier = Path(request["compiled"])
    wanted = asked_of(earlier)
    options = wanted["options"]
    if request["machine"]:
        say("phase", {"phase": "machine", "words": "measuring this machine"})
        keep(measure(processor(), _counted(sparsely(say))))
    say("phase", {"phase": "code", "words": "generating the code again"})
    graph = read_model(wanted).graph
    given = {name: tuple(dims) for name, dims in wanted["shapes"].items()}
    shapes = {**shapes_that_fit(graph, given), **given}
    program = compiled(graph, wanted, shapes, lambda name, event: None)
    if program.is_open:
        first_run(program, graph, shapes, options["seed"])
    _check_same(program, Parts(earlier).payload("result", Result))
    inputs, why_none = try_random_inputs(graph, shapes, options["seed"])
    if inputs is None:
        message = f"there are no inputs to time the program with: {why_none}"
        raise CompileError("E-INPUT-NAME", message)
    say("phase", {"phase": "measure", "words": "timing the kernels"})
    rounds = timed_rounds(program, inputs, request["seconds"], MOST_ROUNDS, sparsely(say))
    payload = profiles.profile(program, rounds, options["threads"], options["seed"])
    Parts(folder).write("profile", payload)
    say("ready", {"part": "profile"})


def _check_same(program: Program, result: Result) -> None:
    if [k.name for k in program.kernels] != [k["name"] for k in result["kernels"]]:
        raise CompileError(
            "E-RESULT-ABSENT",
            "the model now gives other kernels than the compilation",
            hint="compile the model again",
        )


def _counted(tell: Tell) -> Callable[[str], None]:
    """Return a function that counts measurements of the machine, and reports each as a finished
    round."""
    done = -1  # the first message is about compiling the probes

    def told(what: str) -> None:
        nonlocal done
        done += 1
        tell(done, done / ROUNDS)

    return told
