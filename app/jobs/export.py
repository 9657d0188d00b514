"""The job that writes the graph of a stage as an ONNX file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import compiler
from app.jobs.models import compilation_of
from app.jobs.results import Results
from app.jobs.stages import stages_up_to
from app.jobs.task import COMPILED, Task
from app.wire import exports
from app.wire.asked import Asked, Sent, asked
from app.wire.fields import FLAG
from app.wire.shapes.jobs import Result, Stage
from compiler.errors import CompileError
from compiler.ir.graph import Graph

FILE = "model.onnx"
"""Name of the ONNX file in the job's folder."""


@dataclass(frozen=True, slots=True)
class ExportRequest(Asked):
    """The request of an export; `job` is the compilation of the model."""

    kind = "export"
    sent = Sent(
        "ExportOptions",
        "`fused`: export each fusion as a function of the model, not as separate operators.",
    )

    stage: int
    fused: bool = asked(FLAG, False)


def export_stage(task: Task, results: Results) -> None:
    """Write a stage of a compiled model as an ONNX file and run onnx's checker on it.

    Errors: E-EXPORT-*, with a hint that names the nearest earlier exportable stage; E-LIMIT-OUTPUT;
    E-RESULT-ABSENT if the compilation was evicted; the errors of reading the model.
    """
    request, say, kept = task.request, results.say, task.parts_of(COMPILED)
    stage = request["stage"]
    say("phase", {"phase": "passes", "words": "running the passes up to this stage"})
    made = stages_up_to(compilation_of(task), kept, stage)
    say("phase", {"phase": "export", "words": "writing the ONNX file"})
    try:
        data = _written(made[stage], request["fused"], task.limits.output_bytes)
    except CompileError as e:
        if not e.code.startswith("E-EXPORT-"):
            raise
        rows = kept.payload("result", Result)["stages"]
        raise with_way_out(e, made[:stage], rows, request["fused"]) from e
    results.write_file(FILE, data)
    results.write("exported", exports.facts(request, data, _objection(data)))
    say("ready", {"part": "exported"})


def _written(graph: Graph, fused: bool, limit_bytes: int) -> bytes:
    """Return the ONNX file of a graph. Errors: E-EXPORT-*, E-LIMIT-OUTPUT."""
    weights = sum(c.type.nbytes for c in graph.constants.values() if not c.is_splat)
    data = compiler.to_onnx(graph, fused=fused) if weights < limit_bytes else b""
    if not data or len(data) > limit_bytes:
        size = f"{len(data):,} bytes" if data else f"{weights:,} bytes of weights alone"
        raise CompileError(
            "E-LIMIT-OUTPUT",
            f"the ONNX file would have {size}, and the limit of a job is {limit_bytes:,}",
            hint="compilarium compile --emit onnx -o FILE writes the last stage without this limit",
        )
    return data


def _objection(data: bytes) -> str:
    """Return the error that onnx's checker reports for a file; "" if the file is valid."""
    import onnx

    try:
        onnx.checker.check_model(data)
    except onnx.checker.ValidationError as e:
        return str(e).strip().splitlines()[0][:500]
    return ""


def with_way_out(
    e: CompileError, earlier: Sequence[Graph], rows: Sequence[Stage], fused: bool
) -> CompileError:
    """Add the nearest exportable earlier stage to an error as its hint."""
    last: Graph | None = None
    for stage in reversed(range(len(earlier))):
        if earlier[stage] is last:
            continue
        last = earlier[stage]
        try:
            compiler.to_onnx(last, fused=fused)
        except CompileError:
            continue
        shown = rows[stage]["graph_stage"]
        hint = f"stage {shown} ({rows[shown]['name']}) can be exported: select and save that stage"
        return CompileError(e.code, e.message, where=e.where, notes=e.notes, hint=hint)
    hint = "the imported model has this problem too: no earlier stage can be exported"
    return CompileError(e.code, e.message, where=e.where, notes=e.notes, hint=hint)
