"""A job with the stored parts of its result, for the routes about jobs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from flask import Response

from app.api.answers import answer, packed_answer, queue
from app.jobs.stored_results import file_of, parts_of
from app.store.jobs.record import Job
from app.wire.shapes import Payload
from app.wire.shapes.jobs import Kernel, Result, Stage
from compiler.errors import CompileError

T = TypeVar("T")


class Kept:
    """A job and the parts of its result that have been stored so far."""

    def __init__(self, job_id: str) -> None:
        self.job: Job = queue().find(job_id)
        self.blobs = queue().blobs
        self.parts = parts_of(self.blobs, self.job)

    @property
    def final(self) -> bool:
        """Whether the job has ended, so no part of the result changes any more."""
        return self.job.is_over

    @property
    def options(self) -> Mapping[str, Any]:
        """The options of a compilation; empty for other kinds of jobs."""
        return self.job.request.get("options", {})

    def require(self, name: str, what: str = "") -> None:
        """Raise E-RESULT-ABSENT if the job's result lacks this part; `what` describes the part."""
        if not self.parts.has(name):
            raise self.absent(what or name)

    def read(self, name: str) -> dict[str, Any]:
        """Return a part of the result. Errors: E-RESULT-ABSENT."""
        self.require(name)
        return self.parts.read(name)

    def payload(self, name: str, shape: type[T]) -> T:
        """Return a part of the result that is a declared payload. Errors: E-RESULT-ABSENT."""
        self.require(name)
        return self.parts.payload(name, shape)

    def result(self) -> Result:
        """Return the summary of the job. Errors: E-RESULT-ABSENT."""
        return self.payload("result", Result)

    def packed(self, name: str, what: str = "") -> Response:
        """Answer with a part of the result. Errors: E-RESULT-ABSENT."""
        self.require(name, what)
        return packed_answer(self.parts.read_compressed(name), final=self.final)

    def file(self, name: str) -> Path:
        """Return a file that the job gave back. Errors: E-RESULT-ABSENT."""
        return file_of(self.blobs, self.job, name)

    def answer(self, payload: Payload) -> Response:
        """Answer with a payload derived from stored parts of the result."""
        return answer(payload, final=self.final)

    def absent(self, what: str) -> CompileError:
        """Return the error for a missing part of the result."""
        state = self.job.state
        later = "it may appear later: send the request again when the job has finished"
        hint = "" if self.final else later
        return CompileError(
            "E-RESULT-ABSENT",
            f"the job has no {what}; it {_STATES[state]}",
            notes=[state],
            hint=hint,
        )

    def kernel(self, kernel: int) -> Kernel:
        """Return the kernel's row in the summary.

        Errors: E-REQUEST-UNKNOWN for a kernel that will never exist, E-RESULT-ABSENT for a kernel
        that may appear later.
        """
        rows = self.result()["kernels"]
        if kernel < len(rows):
            return rows[kernel]
        if not self.final:
            raise self.absent(f"kernel {kernel} yet")
        raise CompileError(
            "E-REQUEST-UNKNOWN", f"there is no kernel {kernel}; the job has {len(rows)}"
        )

    def computed_kernel(self, kernel: int) -> int:
        """Return the number of the first kernel with the same function as this kernel.

        Errors: E-RESULT-ABSENT; E-REQUEST-UNKNOWN for a kernel without a computation, such as a
        fallback.
        """
        self.require("computations", "kernels yet")
        first = self.kernel(kernel)["text_kernel"]
        if str(first) not in self.parts.read("computations")["kernels"]:
            raise CompileError("E-REQUEST-UNKNOWN", f"kernel {kernel} has no computation")
        return first

    def stages(self) -> list[Stage]:
        """Return the rows of all stages recorded so far."""
        return self.result()["stages"] if self.parts.has("result") else []

    def graph_stage(self, stage: int) -> int:
        """Return the number of the stage that stores this stage's graph; unchanged stages share a
        graph.

        Errors: E-REQUEST-UNKNOWN for a stage that will never exist, E-RESULT-ABSENT for a stage
        that may appear later.
        """
        rows = self.stages()
        if stage < len(rows):
            return rows[stage]["graph_stage"]
        if not self.final:
            raise self.absent(f"stage {stage} yet")
        raise CompileError(
            "E-REQUEST-UNKNOWN", f"there is no stage {stage}; the job has {len(rows)} stages"
        )


_STATES = {
    "queued": "is waiting",
    "running": "is running",
    "succeeded": "has succeeded",
    "failed": "has failed",
    "cancelled": "was cancelled",
}
