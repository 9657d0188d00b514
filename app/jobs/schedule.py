"""The job that runs a kernel of a compiled model with an edited schedule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from app.jobs.parts import Parts
from app.jobs.results import Results
from app.jobs.task import COMPILED, Task
from app.jobs.telling import sparsely
from app.jobs.worker_slot import Slot, measuring
from app.wire import schedules as wire
from app.wire.asked import Asked, Sent, asked
from app.wire.fields import N_KERNELS, whole
from compiler.compute.computation import Computation
from compiler.compute.text import parse_computation
from compiler.errors import CompileError
from compiler.loops.limits import NotLowerable, check_kernel
from compiler.passes.pipeline.precision import precision_mode
from compiler.runtime.kernel_code import code_of
from compiler.schedule.assemble import Scheduled
from compiler.schedule.language.replay import replay
from compiler.schedule.policy import schedule
from compiler.targets.options import CodeOptions
from compiler.targets.target import by_name
from compiler.tuning.beside import Compared, Turns, compared, in_turns
from compiler.tuning.judge import Judge, Runnable
from compiler.tuning.task import reads_computed_places

MEASURE_S = 1.5


@dataclass(frozen=True, slots=True)
class ScheduleRequest(Asked):
    """The request of a run with an edited schedule; `job` is the compilation of the model."""

    kind = "schedule"
    sent = Sent("ScheduleOptions", "The kernel to run, and its schedule.")

    kernel: int = asked(whole(0, N_KERNELS - 1))
    text: str = asked(wire.TEXT)


def run_schedule(task: Task, results: Results) -> None:
    """Compile a kernel with the edited and the original schedule; compare the results and times.

    The code is given back as soon as it exists. Errors: E-SCHEDULE-* and E-LIMIT-CODE for the text,
    E-RESULT-ABSENT if the computation was evicted.
    """
    request, say = task.request, results.say
    say("phase", {"phase": "schedule", "words": "compiling the edited schedule"})
    of = task.parts_of(COMPILED)
    kept = of.read("computations")
    wanted = kept["kernels"][str(request["text_kernel"])]
    computation = parse_computation(wanted["text"])
    constants = frozenset(wanted["constants"])
    in_parts = precision_mode(kept["precision"]).in_parts
    options = CodeOptions(by_name(request["target"]), in_parts=in_parts)
    edited = _checked(replay(request["text"], computation, constants, options))
    own = _own_text(of, request["text_kernel"])
    original = replay(own, computation, constants, options) if own else schedule(
        computation, constants, options
    )  # fmt: skip
    made = wire.edited(request, wanted["name"], code_of(original, options.target),
                       code_of(edited, options.target))  # fmt: skip
    made["because"] = why_not_run(computation, edited, options)
    results.write("edited", made)
    say("ready", {"part": "edited"})
    if made["because"]:
        return
    say("phase", {"phase": "measure", "words": "timing both schedules, interleaved"})
    judge = Judge(computation, constants, options, original)
    with measuring(say, 1) as slot:
        found, turns = _measured(judge, Runnable(edited, judge), sparsely(say), slot)
    results.write("edited", {**made, **wire.verdict(found, turns)})


def why_not_run(computation: Computation, edited: Scheduled, options: CodeOptions) -> str:
    """Return why a kernel cannot run on random operands; "" if it can."""
    if options.target.name != "host":
        return f"the code is for {options.target.name}, which does not run here"
    if edited.kernel.sizes:
        return "the sizes of the kernel are known only at run time"
    if reads_computed_places(computation):
        return "the operands are indices, and random indices would be out of bounds"
    return ""


def _own_text(of: Parts, kernel: int) -> str:
    """Return the original schedule of the kernel; "" if its text was truncated."""
    name = f"kernel-{kernel}-schedule"
    if not of.has(name):
        return ""
    kept = of.read(name)
    return "" if kept["cut"] or "…" in kept["text"] else kept["text"]


def _checked(made: Scheduled) -> Scheduled:
    try:
        check_kernel(made.kernel)
    except NotLowerable as e:
        raise CompileError("E-LIMIT-CODE", str(e)) from e
    return made


def _measured(
    judge: Judge, edited: Runnable, tell: Callable[[int, float], None], slot: Slot
) -> tuple[tuple[Compared, ...], Turns | None]:
    """Return the comparison of two schedules, with their times only if their numerical results
    agree."""
    found = compared(judge, edited)
    right = all(c.agrees for c in found)
    return found, in_turns(judge, edited, MEASURE_S, tell, slot.pause) if right else None
