"""The result of a job, in parts."""

from __future__ import annotations

from flask import Response, request

from app.api.answers import answer, file_answer, settings
from app.api.kept import Kept
from app.api.table import Query, Table
from app.union import Drawing, union_payload
from app.wire import VERSION, shapes
from app.wire.deltas import chained
from app.wire.diffs import CONTEXT, MAX_CONTEXT, diff_payload
from app.wire.fields import whole_number
from app.wire.jobs import result_payload
from app.wire.kernels import KERNEL_PARTS
from app.wire.programs import DOWNLOADS
from compiler.errors import CompileError

ROUTES = Table()
_JOB = "/jobs/<job_id>"
_STAGE = f"{_JOB}/stages/<int:stage>"
_ABSENT = (404, 409)
_MAX_STEPS, _MAX_DRAWN = 5000, 5000


@ROUTES.route("GET", f"{_JOB}/result", shapes.Result, fails=_ABSENT)
def result(job_id: str) -> Response:
    """The summary: model, stages, kernels, memory, timings; what there is of a job that failed."""
    kept = Kept(job_id)
    return kept.answer(result_payload(kept.job, kept.read("result")))


@ROUTES.route("GET", f"{_STAGE}/delta", shapes.StageDelta, fails=_ABSENT)
def stage_delta(job_id: str, stage: int) -> Response:
    """What makes the graph of a stage of the graph before; only where its pass changed it."""
    kept = Kept(job_id)
    own = kept.graph_stage(stage)
    if own != stage:
        raise CompileError(
            "E-REQUEST-UNKNOWN", f"stage {stage} changed nothing: its graph is that of stage {own}"
        )
    return kept.packed(f"stage-{stage}-delta")


@ROUTES.route("GET", f"{_STAGE}/graph", shapes.StageGraph, fails=_ABSENT)
def stage_graph(job_id: str, stage: int) -> Response:
    """The whole graph of a stage."""
    kept = Kept(job_id)
    own = kept.graph_stage(stage)
    rows = kept.stages()
    chain = dict.fromkeys(row["graph_stage"] for row in rows[: own + 1])
    graph = chained(kept.read(f"stage-{each}-delta") for each in chain)
    if own == stage:
        return kept.answer(graph)
    nothing = {"added": [], "changed": [], "removed": []}
    return kept.answer({**graph, **nothing, "stage": stage, "name": rows[stage]["name"]})


@ROUTES.route(
    "GET",
    f"{_STAGE}/steps",
    shapes.Steps,
    query=[
        Query("offset", "how many steps to leave out"),
        Query("limit", f"how many steps to give, at most {_MAX_STEPS}"),
        Query("outcome", "only the `applied` or the `declined` ones", str),
    ],
    fails=(400, *_ABSENT),
)
def stage_steps(job_id: str, stage: int) -> Response:
    """What a pass did, and what it considered and declined."""
    kept = Kept(job_id)
    kept.graph_stage(stage)
    offset = whole_number(request.args.get("offset"), "offset", 0, 0, 10**9)
    limit = whole_number(request.args.get("limit"), "limit", _MAX_STEPS, 1, _MAX_STEPS)
    outcome = request.args.get("outcome", "")
    if outcome not in ("", "applied", "declined"):
        raise CompileError(
            "E-REQUEST-BODY", f"outcome: needed applied or declined, got {outcome!r:.40}"
        )
    steps = kept.read(f"stage-{stage}-steps")
    found = [s for s in steps["steps"] if not outcome or s["outcome"] == outcome]
    page = {"n_steps": len(found), "offset": offset, "steps": found[offset : offset + limit]}
    return kept.answer({**steps, **page})


@ROUTES.route("GET", f"{_STAGE}/text", shapes.StageText, fails=_ABSENT)
def stage_text(job_id: str, stage: int) -> Response:
    """The graph of a stage as text."""
    kept = Kept(job_id)
    own = kept.graph_stage(stage)
    if own == stage:
        return kept.packed(f"stage-{stage}-text")
    return kept.answer({**kept.read(f"stage-{own}-text"), "stage": stage})


@ROUTES.route(
    "GET",
    f"{_STAGE}/diff",
    shapes.Diff,
    query=[
        Query("against", "the stage to compare with, the one before unless given"),
        Query("context", "how many equal lines to show around each change"),
    ],
    fails=(400, *_ABSENT),
)
def stage_diff(job_id: str, stage: int) -> Response:
    """The texts of two stages, line by line."""
    kept = Kept(job_id)
    against = whole_number(request.args.get("against"), "against", max(stage - 1, 0), 0, 10**6)
    context = whole_number(request.args.get("context"), "context", CONTEXT, 0, MAX_CONTEXT)
    own, other = kept.graph_stage(stage), kept.graph_stage(against)
    new = kept.read(f"stage-{own}-text")
    old = new if own == other else kept.read(f"stage-{other}-text")
    places = {"version": VERSION, "stage": stage, "against": against}
    return kept.answer({**places, **diff_payload(old, new, context)})


@ROUTES.route(
    "GET",
    f"{_JOB}/union",
    shapes.Union,
    query=[
        Query("limit", f"open groups while at most so many boxes are drawn, at most {_MAX_DRAWN}"),
    ],
    fails=(400, *_ABSENT),
)
def union(job_id: str) -> Response:
    """The nodes of all stages in one nested drawing, as DOT."""
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


@ROUTES.route("GET", f"{_JOB}/neighbours", shapes.Neighbours, fails=_ABSENT)
def neighbours(job_id: str) -> Response:
    """For each edge of the model: one kernel or two, and why."""
    return Kept(job_id).packed("neighbours")


@ROUTES.route("GET", f"{_JOB}/kernels/<int:kernel>/links", shapes.KernelLinks, fails=_ABSENT)
def kernel_links(job_id: str, kernel: int) -> Response:
    """Of each line of a kernel's LLVM text the line of Loop IR, of its assembly that of LLVM."""
    return _of_kernel(job_id, kernel, "links")


@ROUTES.route("GET", f"{_JOB}/kernels/<int:kernel>/<part>", shapes.KernelText, fails=_ABSENT)
def kernel_text(job_id: str, kernel: int, part: str) -> Response:
    """One level of one kernel: computation, schedule, loops, llvm or asm."""
    _check_part(part)
    return _of_kernel(job_id, kernel, part)


@ROUTES.route(
    "GET",
    f"{_JOB}/kernels/<int:kernel>/<part>/diff",
    shapes.KernelDiff,
    query=[
        Query("against", "the job of the old text, this one unless given", str),
        Query("kernel", "the number of that job's kernel, the same unless given"),
        Query("context", "how many equal lines to show around each change"),
    ],
    fails=(400, *_ABSENT),
)
def kernel_diff(job_id: str, kernel: int, part: str) -> Response:
    """One level of two kernels, of one job or of two, line by line."""
    _check_part(part)
    kept = Kept(job_id)
    other = Kept(request.args.get("against", job_id))
    number = whole_number(request.args.get("kernel"), "kernel", kernel, 0, 10**6)
    context = whole_number(request.args.get("context"), "context", CONTEXT, 0, MAX_CONTEXT)
    old, new = (
        each.read(f"kernel-{_with_text(each, at)}-{part}")
        for each, at in ((other, number), (kept, kernel))
    )
    payload = {
        "version": VERSION,
        "part": part,
        "kernel": kernel,
        "against": {"job": other.job.id, "kernel": number},
        **diff_payload(old, new, context),
    }
    return answer(payload, final=kept.final and other.final)


def _check_part(part: str) -> None:
    if part not in KERNEL_PARTS:
        parts = ", ".join(KERNEL_PARTS)
        raise CompileError("E-REQUEST-UNKNOWN", f"kernels have {parts}, not {part!r:.40}")


def _of_kernel(job_id: str, kernel: int, part: str) -> Response:
    """A part that kernels which share a function have once."""
    kept = Kept(job_id)
    first = _with_text(kept, kernel)
    if first == kernel:
        return kept.packed(f"kernel-{kernel}-{part}")
    return kept.answer({**kept.read(f"kernel-{first}-{part}"), "kernel": kernel})


def _with_text(kept: Kept, kernel: int) -> int:
    """The kernel under whose number the texts of a kernel are kept."""
    kernels = kept.read("result")["kernels"]
    if kernel >= len(kernels):
        if not kept.final:
            raise kept.absent(f"kernel {kernel} yet")
        raise CompileError(
            "E-REQUEST-UNKNOWN", f"there is no kernel {kernel}; the job has {len(kernels)}"
        )
    return kernels[kernel]["text_kernel"]


@ROUTES.route("GET", f"{_JOB}/provenance", shapes.Provenance, fails=_ABSENT)
def provenance(job_id: str) -> Response:
    """From ONNX nodes to everything that was made of them."""
    return Kept(job_id).packed("provenance")


@ROUTES.route("GET", f"{_JOB}/download/<what>", "text/plain", fails=_ABSENT)
def download(job_id: str, what: str) -> Response:
    """The whole program at one level, as a file."""
    kept = Kept(job_id)
    if what not in DOWNLOADS:
        raise CompileError(
            "E-REQUEST-UNKNOWN", f"there are {', '.join(DOWNLOADS)} to download, not {what!r:.40}"
        )
    text = kept.read(f"download-{what}")["text"]
    return file_answer(text, "text/plain", f"{kept.job.id}.{_SUFFIX[what]}")


_SUFFIX = {"graph": "graph.txt", "loops": "loops.txt", "llvm": "ll", "asm": "s"}
