"""The program of a finished compilation, compiled again in another job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.jobs.compile import compiled, first_run
from app.jobs.models import Compilation, read_model, try_random_inputs
from app.jobs.parts import Parts
from app.wire.shapes.jobs import Result
from compiler.errors import CompileError
from compiler.ir.graph import Graph
from compiler.runtime.assumed import shapes_that_fit
from compiler.runtime.program import Program


@dataclass(frozen=True, slots=True)
class Recompiled:
    """A program equal to that of an earlier compilation, with its model, shapes and options."""

    graph: Graph
    program: Program
    shapes: Mapping[str, tuple[int, ...]]
    options: Mapping[str, Any]

    def inputs(self) -> dict[str, Any]:
        """Return the random inputs of the compilation. Errors: E-INPUT-NAME if there are none."""
        inputs, why_none = try_random_inputs(self.graph, self.shapes, self.options["seed"])
        if inputs is None:
            message = f"there are no inputs to time the program with: {why_none}"
            raise CompileError("E-INPUT-NAME", message)
        return inputs


def recompiled(earlier: Compilation, kept: Parts) -> Recompiled:
    """Repeat a compilation with these stored parts.

    Errors: E-RESULT-ABSENT if the compilation was evicted or would now give other kernels, and the
    errors of the model.
    """
    options, given = earlier.options, earlier.shapes
    graph = read_model(earlier).graph
    shapes = {**shapes_that_fit(graph, given), **given}
    program = compiled(graph, earlier, shapes, lambda name, event: None)
    if program.is_open:
        first_run(program, graph, shapes, options["seed"])
    _check_same(program, kept.payload("result", Result))
    return Recompiled(graph, program, shapes, options)


def _check_same(program: Program, result: Result) -> None:
    if [k.name for k in program.kernels] != [k["name"] for k in result["kernels"]]:
        raise CompileError(
            "E-RESULT-ABSENT",
            "the model now gives other kernels than the compilation",
            hint="compile the model again",
        )
