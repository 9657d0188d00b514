"""The block `schedule`: moves on the loops of a kernel."""

from __future__ import annotations

from typing import Any

from compiler.errors import CompileError
from compiler.schedule.assemble import Scheduled
from compiler.targets.target import by_name
from course.blocks.results import Results, Run, or_error
from course.cache_lines import misses
from course.format.kind import block_kind
from course.frames.walk import walk_picture
from course.graphs import lines_from
from course.lane_counts import lane_counts
from course.loop_counts import counts, loops_text, scheduled
from course.quantities.amount import Amount
from course.quantities.subject import Subject


@block_kind(body="text")
def schedule(
    run: Run,
    text: str,
    *,
    name: str,
    of: str,
    kernel: int = 0,
    cache: int = 0,
    target: str = "",
    moving: bool = False,
    expect: str = "",
) -> Results:
    """Apply a schedule to a kernel of a graph, and show its loops.

    Results are `loops`, `depth`, `iterations` and `moves`. With `cache`, they include `misses`: the
    lines that the loops load into a simulated cache of this size in bytes. With `target`, they
    include the `registers`, `operations` and `loads` of the loops on this machine, by a model. With
    `moving`, a moving picture shows the elements that each iteration reads and writes. With
    `expect`, the schedule must be refused with this error code.
    """
    kernels = [k for k in Subject(run.graph(of)).preview.kernels if k.computation is not None]
    if not 0 <= kernel < len(kernels):
        message = f"{of} has {len(kernels)} kernels with loops; kernel={kernel} is not one of them"
        raise CompileError("E-LESSON-RESULT", message, where=run.where)
    computation = kernels[kernel].computation
    assert computation is not None, "chosen above"

    def make() -> Scheduled:
        with lines_from(run.first_line):
            return scheduled(text, computation, kernels[kernel].constants)

    made = or_error(run, expect, "the schedule", make)
    if isinstance(made, Results):
        return made
    found = counts(made.kernel)
    amounts = {
        "loops": Amount(found.loops),
        "depth": Amount(found.depth),
        "iterations": Amount(found.iterations),
        "moves": Amount(len(made.moves)),
    }
    if cache:
        missed = misses(made.kernel, cache)
        if missed is None:
            message = f"the accesses of {name} cannot be simulated: too many, or computed addresses"
            raise CompileError("E-LESSON-RESULT", message, where=run.where)
        amounts["misses"] = Amount(missed)
    if target:
        on_target = lane_counts(made.kernel, by_name(target))
        if on_target is None:
            message = f"the registers of {name} cannot be counted: conditions, computed addresses"
            raise CompileError("E-LESSON-RESULT", message, where=run.where)
        amounts["registers"] = Amount(on_target.registers)
        amounts["operations"] = Amount(on_target.operations)
        amounts["loads"] = Amount(on_target.loads)
    texts = {"loops": loops_text(made.kernel), "schedule": made.text}
    data: dict[str, Any] = {"kernel": kernels[kernel].name}
    if moving:
        data["motion"] = walk_picture(made.kernel)
    return Results(amounts, texts, data)
