"""Figures of numerical errors; each names the reference that it compares with."""

from __future__ import annotations

from collections.abc import Iterable

from compiler.figures.figure import figure
from compiler.runtime.compare import Difference, worst


@figure("error against our reference", "error", "result.check.outputs[].relative_error")
def error_of_output(difference: Difference) -> float:
    """The largest error of an output against our reference, divided by the output's largest value.

    Our reference evaluates the imported graph node by node in numpy, in the types of the model.
    """
    return difference.relative_error


@figure(
    "error against the yardstick",
    "error",
    "numerics.program.relative_error = check.stages[program].relative_error",
)
def error_of_outputs(differences: Iterable[Difference]) -> float:
    """The largest error of all outputs against the yardstick, relative to each largest value.

    The yardstick is onnx.reference on the ONNX file. It is our reference if onnx.reference fails,
    or contradicts all others; the result of a check names it.
    """
    return worst(tuple(differences))
