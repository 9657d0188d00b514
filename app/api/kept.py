"""A job with the parts that it has kept, as the routes about jobs need it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from flask import Response

from app.api.answers import answer, packed_answer, queue
from app.jobs.parts import Parts
from app.jobs.records import Job
from app.wire.shapes import Payload
from app.wire.shapes.jobs import Kernel, Result, Stage
from compiler.errors import CompileError

T = TypeVar("T")


class Kept:
    """A job and the parts that it has kept so far."""

    def __init__(self, job_id: str) -> None:
        self.job: Job = queue().find(job_id)
        self.parts = Parts(self.job.folder)

    @property
    def folder(self) -> str:
        """Where the parts lie, for a child that reads them."""
        return str(self.job.folder.resolve())

    @property
    def final(self) -> bool:
        """Whether nothing more will come."""
        return self.job.is_over

    @property
    def options(self) -> Mapping[str, Any]:
        """What a compilation did besides compiling; nothing for other kinds of jobs."""
        return self.job.request.get("options", {})

    def require(self, name: str, what: str = "") -> None:
        """Errors: E-RESULT-ABSENT where a part is not there; `what` it would be, in words."""
        if not self.parts.has(name):
            raise self.absent(what or name)

    def read(self, name: str) -> dict[str, Any]:
        """A part. Errors: E-RESULT-ABSENT."""
        self.require(name)
        return self.parts.read(name)

    def payload(self, name: str, shape: type[T]) -> T:
        """A part that has a shape of the wire. Errors: E-RESULT-ABSENT."""
        self.require(name)
        return self.parts.payload(name, shape)

    def result(self) -> Result:
        """The summary. Errors: E-RESULT-ABSENT."""
        return self.payload("result", Result)

    def packed(self, name: str, what: str = "") -> Response:
        """A part as an answer. Errors: E-RESULT-ABSENT."""
        self.require(name, what)
        return packed_answer(self.parts.read_compressed(name), final=self.final)

    def answer(self, payload: Payload) -> Response:
        """Something made of parts, as an answer."""
        return answer(payload, final=self.final)

    def absent(self, what: str) -> CompileError:
        """The error for a part that is not there."""
        state = self.job.state
        hint = "" if self.final else "it may come: ask again when the job has finished"
        return CompileError(
            "E-RESULT-ABSENT",
            f"the job has no {what}; it {_STATES[state]}",
            notes=[state],
            hint=hint,
        )

    def kernel(self, kernel: int) -> Kernel:
        """The row of a kernel.

        Errors: E-REQUEST-UNKNOWN for one that will never be, E-RESULT-ABSENT if it may come.
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
        """The first kernel that runs the same function, which is made of a computation.

        Errors: E-RESULT-ABSENT, E-REQUEST-UNKNOWN for a fallback.
        """
        self.require("computations", "kernels yet")
        first = self.kernel(kernel)["text_kernel"]
        if str(first) not in self.parts.read("computations")["kernels"]:
            raise CompileError("E-REQUEST-UNKNOWN", f"kernel {kernel} is not made of a computation")
        return first

    def stages(self) -> list[Stage]:
        """The rows of the stages that are there."""
        return self.result()["stages"] if self.parts.has("result") else []

    def graph_stage(self, stage: int) -> int:
        """The stage whose graph this stage has.

        Errors: E-REQUEST-UNKNOWN for a stage that will never be, E-RESULT-ABSENT if it may come.
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
