"""Graphs of an earlier compilation's stages, recomputed by running the passes again."""

from __future__ import annotations

from contextlib import suppress

from app.jobs.models import Compilation, options_of, read_model
from app.jobs.parts import Parts
from app.wire.identities import Identified
from app.wire.shapes.stages import StageText
from app.wire.texts import stage_text
from compiler.errors import CompileError
from compiler.ir.graph import Graph
from compiler.ir.infer import specialize
from compiler.passes.pipeline.run import run_pipeline
from compiler.runtime.assumed import shapes_that_fit
from compiler.trace import Event


def stages_up_to(compiled: Compilation, kept: Parts, stage: int) -> list[Graph]:
    """Return the graphs of stages 0 to `stage` of a compilation with these stored parts.

    Errors: E-RESULT-ABSENT if the compilation was evicted or ran other passes; the errors of
    reading the model.
    """
    imported = read_model(compiled).graph
    made = [imported]
    if stage > 0:
        _run_passes(imported, compiled, made, stage)
    _check_same(kept, stage, made)
    return made


class _Enough(Exception):
    """Raised by the progress callback to stop compiling once the requested stage is reached."""


def _run_passes(imported: Graph, compiled: Compilation, made: list[Graph], stage: int) -> None:
    """Add the specialised graph and the graphs after each pass, up to a stage."""
    options, given = options_of(compiled.request), compiled.shapes
    shapes = {**shapes_that_fit(imported, given), **given}
    source = specialize(imported, shapes) if shapes else imported

    def take(event: Event) -> None:
        if len(made) == 1 and event.before is not imported:
            made.append(event.before)
        made.append(event.after)
        if len(made) > stage:
            raise _Enough

    with suppress(_Enough):
        run_pipeline(source, options.passes, keep_declined=False, progress=take, gate=options.gate)


def _check_same(kept: Parts, stage: int, made: list[Graph]) -> None:
    """Raise E-RESULT-ABSENT if the recomputed graph of a stage differs from the stored graph."""
    if len(made) > stage:
        shown = kept.payload(f"stage-{stage}-text", StageText)
        now = stage_text(stage, stage, Identified(made[stage]))
        if (now["text"], now["n_lines"]) == (shown["text"], shown["n_lines"]):
            return
    raise CompileError(
        "E-RESULT-ABSENT",
        "this version runs other passes than the version that compiled the model",
        hint="compile the model again",
    )
