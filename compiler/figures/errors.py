"""Figures of numerical errors; each figure names its reference."""

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
    """The largest error of any output against the yardstick, divided by the output's maximum.

    The yardstick is onnx.reference on the ONNX file. Our reference replaces onnx.reference if
    onnx.reference fails, or if another runtime agrees only with our reference. The result of a
    check names the yardstick.
    """
    return worst(tuple(differences))
