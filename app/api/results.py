"""The result of a job: summary, drawing, provenance, downloads."""

from __future__ import annotations

from flask import Response, request

from app.api.answers import file_answer, settings
from app.api.kept import Kept
from app.api.table import Query, Table
from app.drawing import Drawing
from app.jobs.payloads import result_payload
from app.union import union_payload
from app.wire.fields import whole_number
from app.wire.programs import DOWNLOADS
from app.wire.shapes.jobs import Result
from app.wire.shapes.stages import Neighbours, Provenance, Union
from compiler.errors import CompileError

ROUTES = Table()
_JOB = "/jobs/<job_id>"
_ABSENT = (404, 409)
_MAX_DRAWN = 5000


@ROUTES.route("GET", f"{_JOB}/result", Result, fails=_ABSENT)
def result(job_id: str) -> Response:
    """Return the summary: model, stages, kernels, memory, timings; partial for a failed job."""
    kept = Kept(job_id)
    return kept.answer(result_payload(kept.job, kept.result()))


@ROUTES.route(
    "GET",
    f"{_JOB}/union",
    Union,
    query=[
        Query(
            "limit", f"the maximum number of boxes drawn with all groups open, at most {_MAX_DRAWN}"
        ),
    ],
    fails=(400, *_ABSENT),
)
def union(job_id: str) -> Response:
    """Return the nodes of all stages in one nested drawing, as DOT."""
    kept = Kept(job_id)
    rows = kept.stages()
    if not rows:
        raise kept.absent("stage yet")
    limit = whole_number(
        request.args.get("limit"), "limit", settings().drawn_nodes_limit, 1, _MAX_DRAWN
    )
    own = {r["graph_stage"]: kept.read(f"stage-{r['graph_stage']}-skeleton") for r in rows}
    drawing = Drawing.of([own[r["graph_stage"]] for r in rows])
    return kept.answer(union_payload(drawing, limit))


@ROUTES.route("GET", f"{_JOB}/neighbours", Neighbours, fails=_ABSENT)
def neighbours(job_id: str) -> Response:
    """Return the fusion verdict of each edge of the model, with the reason."""
    return Kept(job_id).packed("neighbours")


@ROUTES.route("GET", f"{_JOB}/provenance", Provenance, fails=_ABSENT)
def provenance(job_id: str) -> Response:
    """Return the graph nodes, kernels and buffers that come from each ONNX node."""
    return Kept(job_id).packed("provenance")


@ROUTES.route("GET", f"{_JOB}/download/<what>", "text/plain", fails=_ABSENT)
def download(job_id: str, what: str) -> Response:
    """Return the whole program at one level, as a file."""
    kept = Kept(job_id)
    if what not in DOWNLOADS:
        raise CompileError(
            "E-REQUEST-UNKNOWN", f"the downloads are {', '.join(DOWNLOADS)}, not {what!r:.40}"
        )
    text = kept.read(f"download-{what}")["text"]
    return file_answer(text, "text/plain", f"{kept.job.id}.{_SUFFIX[what]}")


_SUFFIX = {"graph": "graph.txt", "loops": "loops.txt", "llvm": "ll", "asm": "s"}
