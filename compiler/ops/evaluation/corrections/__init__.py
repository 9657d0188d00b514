"""Corrections of defects of onnx.reference, one table entry per defect.

onnx.reference evaluates foreign operators, and is the reference for compiled programs. A defect has
an entry only if the text of the standard and all runtimes agree on another result.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from functools import cache
from typing import Any

from compiler.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Correction:
    """A corrected operator: its ONNX name, the module of the correction, and the defect.

    `cases` are published test cases whose outputs have this defect, because onnx.reference
    generated them.
    """

    operator: str
    module: str
    reason: str
    cases: tuple[str, ...] = ()


_AXES_AS_SET = (
    "Squeeze", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax",
    "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare",
)  # fmt: skip

TABLE = (
    Correction(
        "Resize",
        "resize",
        "If scales are given, align_corners and tf_crop_and_resize divide by the unrounded length. "
        "The standard requires length_resized, the length of the result. For a result of length "
        "1, pytorch_half_pixel reads -0.5, but the standard requires 0. Sizes are rounded down "
        "from f64: 10 * f32(0.7) is 6, but 7 in the standard's shape inference.",
        (
            "test_resize_downsample_scales_cubic_align_corners",
            "test_resize_downsample_scales_linear_align_corners",
        ),
    ),
    Correction(
        "GridSample",
        "grid_sample",
        "With cubic interpolation and `border` padding, a coordinate outside the image is clamped "
        "before its neighbours are read. The standard refers to torch. torch and ONNX Runtime read "
        "border values as neighbours. The modes of opset 16 are missing: bilinear and bicubic.",
    ),
    Correction(
        "ConvTranspose",
        "conv_transpose",
        "With several groups, only one channel per group is written, and the bias of the first "
        "group is added to all. Without `auto_pad`, pads are not derived from `output_shape`, "
        "although the standard requires it.",
    ),
    Correction(
        "LogSoftmax",
        "log_softmax",
        "The result is log(softmax(x)), which is -infinity if the softmax underflows to 0. Every "
        "runtime computes x - max - log(sum(exp(x - max))), which is finite.",
    ),
    Correction(
        "LRN",
        "lrn",
        "For N images, only the first N channels are normalised; the other channels are copied. "
        "Only images of two spatial dimensions are accepted.",
    ),
    Correction(
        "MaxRoiPool",
        "max_roi_pool",
        "onnx.reference does not implement the operator.",
    ),
    Correction(
        "SequenceInsert",
        "sequence_insert",
        "The insertion position is taken modulo the length, but in the standard, a position equal "
        "to the length appends.",
    ),
    Correction(
        "Unique",
        "unique",
        "Rows of strings cannot be compared. With sorted=0, onnx.reference ignores `axis` and "
        "takes rows along axis 0; if only one output is requested, the output remains sorted.",
    ),
    *(
        Correction(
            operator,
            "repeated_axes",
            "A repeated axis is an error. The standard's shape inference and every runtime count "
            "it once.",
        )
        for operator in _AXES_AS_SET
    ),
)


def is_corrected_case(name: str) -> bool:
    """Return whether a published test case has wrong expected outputs because of these defects."""
    return any(name in c.cases for c in TABLE)


@cache
def corrected() -> tuple[type[Any], ...]:
    """Return the corrected operators: classes for onnx.reference, with ONNX names."""
    return tuple(
        getattr(importlib.import_module(f"{__name__}.{c.module}"), c.operator) for c in TABLE
    )


def corrected_evaluator(model: Any, more: Iterable[Any] = ()) -> Any:
    """Create an onnx.reference evaluator of a model, with all corrections.

    `more` are further operators, as classes for onnx.reference, which take precedence over
    corrections.
    """
    from onnx.reference import ReferenceEvaluator

    return ReferenceEvaluator(model, new_ops=[*corrected(), *more])
