"""The job that compiles a kernel of a compiled model for every known target."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

from app.jobs.results import Results
from app.jobs.task import COMPILED, Task
from app.wire import VERSION, targets
from app.wire.asked import Asked, Sent, asked
from app.wire.fields import N_KERNELS, whole
from app.wire.programs import first_kernels
from compiler.compute.text import parse_computation
from compiler.errors import CompileError
from compiler.passes.pipeline.precision import precision_mode
from compiler.runtime.kernel_code import code_for
from compiler.runtime.program import Program
from compiler.targets.options import CodeOptions
from compiler.targets.target import by_name, names


@dataclass(frozen=True, slots=True)
class TargetsRequest(Asked):
    """The request of a kernel's code for all targets; `job` is the compilation of the model."""

    kind = "targets"
    sent = Sent("TargetOptions", "The kernel to compile.")

    kernel: int = asked(whole(0, N_KERNELS - 1))


def computations_part(program: Program, precision: str) -> dict[str, Any]:
    """Return the computations of all kernels, from which later jobs generate code."""
    found = {
        str(number): {"text": str(k.computation), "constants": sorted(k.constants), "name": k.name}
        for number, k in first_kernels(program)
        if k.computation is not None
    }
    return {"version": VERSION, "precision": precision, "kernels": found}


def make_targets(task: Task, results: Results) -> None:
    """Compile a kernel for each target in turn, and give back each result at once.

    Errors: E-RESULT-ABSENT if the kernel's computation was evicted.
    """
    request, say = task.request, results.say
    say("phase", {"phase": "targets", "words": "generating code for other machines"})
    kept = task.parts_of(COMPILED).read("computations")
    wanted = kept["kernels"][str(request["text_kernel"])]
    computation = parse_computation(wanted["text"])
    constants = frozenset(wanted["constants"])
    in_parts = precision_mode(kept["precision"]).in_parts
    summary = targets.summary(request, wanted["name"])
    for target in map(by_name, names()):
        start = perf_counter()
        try:
            made = code_for(computation, constants, CodeOptions(target, in_parts=in_parts))
        except CompileError as e:
            row = targets.row(target, perf_counter() - start, None, e.message)
        else:
            row = targets.row(target, perf_counter() - start, made)
            code = targets.code(target, request["kernel"], made)
            results.write(targets.part_of(target.name), code)
        summary["rows"].append(row)
        results.write("targets", summary)
        say("ready", {"part": target.name})
