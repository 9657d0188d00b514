"""The kernels of a program at each level, and comparisons of two kernels."""

from __future__ import annotations

from flask import Response, request

from app.api.answers import answer
from app.api.kept import Kept
from app.api.table import Query, Table
from app.wire import VERSION
from app.wire.diffs import CONTEXT, MAX_CONTEXT, diff_of
from app.wire.fields import whole_number
from app.wire.kernels import KERNEL_PARTS
from app.wire.shapes.stages import KernelDiff, KernelLinks, KernelPart, KernelText
from compiler.errors import CompileError

ROUTES = Table()
_KERNEL = "/jobs/<job_id>/kernels/<int:kernel>"
_ABSENT = (404, 409)


@ROUTES.route("GET", f"{_KERNEL}/links", KernelLinks, fails=_ABSENT)
def kernel_links(job_id: str, kernel: int) -> Response:
    """Map lines of a kernel's LLVM IR to lines of Loop IR, and lines of its assembly to LLVM IR."""
    return _of_kernel(job_id, kernel, "links")


@ROUTES.route("GET", f"{_KERNEL}/<part>", KernelText, fails=_ABSENT)
def kernel_text(job_id: str, kernel: int, part: str) -> Response:
    """Return the text of a kernel at one level: computation, schedule, loops, llvm or asm."""
    return _of_kernel(job_id, kernel, _checked_part(part))


@ROUTES.route(
    "GET",
    f"{_KERNEL}/<part>/diff",
    KernelDiff,
    query=[
        Query("against", "the job of the old text; default: this job", str),
        Query("kernel", "the kernel with the old text; default: the kernel of the same number"),
        Query("context", "the number of equal lines around each change"),
    ],
    fails=(400, *_ABSENT),
)
def kernel_diff(job_id: str, kernel: int, part: str) -> Response:
    """Compare the texts of two kernels, of one job or two jobs, at one level, line by line."""
    level = _checked_part(part)
    kept = Kept(job_id)
    other = Kept(request.args.get("against", job_id))
    number = whole_number(request.args.get("kernel"), "kernel", kernel, 0, 10**6)
    context = whole_number(request.args.get("context"), "context", CONTEXT, 0, MAX_CONTEXT)
    old, new = (
        each.payload(f"kernel-{each.kernel(at)['text_kernel']}-{level}", KernelText)
        for each, at in ((other, number), (kept, kernel))
    )
    payload: KernelDiff = {
        "version": VERSION,
        "part": level,
        "kernel": kernel,
        "against": {"job": other.job.id, "kernel": number},
        **diff_of(old, new, context),
    }
    return answer(payload, final=kept.final and other.final)


def _checked_part(name: str) -> KernelPart:
    for part in KERNEL_PARTS:
        if part == name:
            return part
    parts = ", ".join(KERNEL_PARTS)
    raise CompileError("E-REQUEST-UNKNOWN", f"the levels of a kernel are {parts}, not {name!r:.40}")


def _of_kernel(job_id: str, kernel: int, part: str) -> Response:
    """Return one level of a kernel; kernels with the same function share the stored level."""
    kept = Kept(job_id)
    first = kept.kernel(kernel)["text_kernel"]
    if first == kernel:
        return kept.packed(f"kernel-{kernel}-{part}")
    shape = KernelLinks if part == "links" else KernelText
    found = kept.payload(f"kernel-{first}-{part}", shape)
    found["kernel"] = kernel
    return kept.answer(found)
