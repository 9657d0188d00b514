"""The graph after each pass (complete, as a delta, or as text), and the steps of the pass."""

from __future__ import annotations

from flask import Response, request

from app.api.kept import Kept
from app.api.table import Query, Table
from app.wire import VERSION
from app.wire.deltas import chained
from app.wire.diffs import CONTEXT, MAX_CONTEXT, diff_of
from app.wire.fields import whole_number
from app.wire.shapes.stages import StageDelta, StageDiff, StageGraph, StageText, Steps
from compiler.errors import CompileError

ROUTES = Table()
_STAGE = "/jobs/<job_id>/stages/<int:stage>"
_ABSENT = (404, 409)
_MAX_STEPS = 5000


@ROUTES.route("GET", f"{_STAGE}/delta", StageDelta, fails=_ABSENT)
def stage_delta(job_id: str, stage: int) -> Response:
    """Return the delta from the previous graph to a stage's graph, if the two graphs differ."""
    kept = Kept(job_id)
    own = kept.graph_stage(stage)
    if own != stage:
        raise CompileError(
            "E-REQUEST-UNKNOWN", f"stage {stage} changed nothing: its graph is that of stage {own}"
        )
    return kept.packed(f"stage-{stage}-delta")


@ROUTES.route("GET", f"{_STAGE}/graph", StageGraph, fails=_ABSENT)
def stage_graph(job_id: str, stage: int) -> Response:
    """Return the whole graph of a stage."""
    kept = Kept(job_id)
    own = kept.graph_stage(stage)
    rows = kept.stages()
    chain = dict.fromkeys(row["graph_stage"] for row in rows[: own + 1])
    graph = chained(kept.payload(f"stage-{each}-delta", StageDelta) for each in chain)
    if own == stage:
        return kept.answer(graph)
    graph.update(stage=stage, name=rows[stage]["name"])
    graph.update(added=[], changed=[], refined=[], removed=[])
    return kept.answer(graph)


@ROUTES.route(
    "GET",
    f"{_STAGE}/steps",
    Steps,
    query=[
        Query("offset", "the number of steps to skip"),
        Query("limit", f"the number of steps to return, at most {_MAX_STEPS}"),
        Query("outcome", "only the `applied` or the `declined` steps", str),
    ],
    fails=(400, *_ABSENT),
)
def stage_steps(job_id: str, stage: int) -> Response:
    """Return the applied and declined steps of a pass."""
    kept = Kept(job_id)
    kept.graph_stage(stage)
    offset = whole_number(request.args.get("offset"), "offset", 0, 0, 10**9)
    limit = whole_number(request.args.get("limit"), "limit", _MAX_STEPS, 1, _MAX_STEPS)
    outcome = request.args.get("outcome", "")
    if outcome not in ("", "applied", "declined"):
        raise CompileError(
            "E-REQUEST-BODY", f"outcome: expected applied or declined, got {outcome!r:.40}"
        )
    steps = kept.payload(f"stage-{stage}-steps", Steps)
    found = [s for s in steps["steps"] if not outcome or s["outcome"] == outcome]
    steps.update(n_steps=len(found), offset=offset, steps=found[offset : offset + limit])
    return kept.answer(steps)


@ROUTES.route("GET", f"{_STAGE}/text", StageText, fails=_ABSENT)
def stage_text(job_id: str, stage: int) -> Response:
    """Return the graph of a stage as text."""
    kept = Kept(job_id)
    own = kept.graph_stage(stage)
    if own == stage:
        return kept.packed(f"stage-{stage}-text")
    text = kept.payload(f"stage-{own}-text", StageText)
    text["stage"] = stage
    return kept.answer(text)


@ROUTES.route(
    "GET",
    f"{_STAGE}/diff",
    StageDiff,
    query=[
        Query("against", "the stage to compare with; default: the previous stage"),
        Query("context", "the number of equal lines around each change"),
    ],
    fails=(400, *_ABSENT),
)
def stage_diff(job_id: str, stage: int) -> Response:
    """Compare the texts of two stages line by line."""
    kept = Kept(job_id)
    against = whole_number(request.args.get("against"), "against", max(stage - 1, 0), 0, 10**6)
    context = whole_number(request.args.get("context"), "context", CONTEXT, 0, MAX_CONTEXT)
    own, other = kept.graph_stage(stage), kept.graph_stage(against)
    new = kept.payload(f"stage-{own}-text", StageText)
    old = new if own == other else kept.payload(f"stage-{other}-text", StageText)
    rows = diff_of(old, new, context)
    diff: StageDiff = {"version": VERSION, "stage": stage, "against": against, **rows}
    return kept.answer(diff)
