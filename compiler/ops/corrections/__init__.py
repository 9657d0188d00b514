"""Corrections of defects of onnx.reference, one table entry per defect.

onnx.reference evaluates foreign operators and is the oracle for programs. An entry is here only
where the text of the standard and the runtimes agree on another result.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

from compiler.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Correction:
    """A corrected operator: its ONNX name, its module here, and the defect.

    `cases` are published test cases with the same defect, since onnx.reference made their outputs.
    """

    operator: str
    module: str
    reason: str
    cases: tuple[str, ...] = ()


TABLE = (
    Correction(
        "Resize",
        "resize",
        "With scales, align_corners and tf_crop_and_resize divide by the length before it is "
        "rounded down; the text says length_resized, the length of the result. "
        "pytorch_half_pixel reads -0.5 for a result of length 1, where the text says 0. Sizes are "
        "rounded down from f64: 10 * f32(0.7) is 6, in the standard's shape inference 7.",
        (
            "test_resize_downsample_scales_cubic_align_corners",
            "test_resize_downsample_scales_linear_align_corners",
        ),
    ),
    Correction(
        "GridSample",
        "grid_sample",
        "With cubic interpolation and the padding `border` a place outside is moved to the border "
        "before its neighbours are read; torch, to which the text refers, and ONNX Runtime go on "
        "with the border's values. The modes of opset 16, bilinear and bicubic, are unknown.",
    ),
    Correction(
        "ConvTranspose",
        "conv_transpose",
        "Of several groups only one channel each is written, and the bias of the first is added "
        "to all. `output_shape` without `auto_pad` is not turned into pads, as the text asks.",
    ),
    Correction(
        "LogSoftmax",
        "log_softmax",
        "The logarithm of a softmax that has become 0 is -infinity; x - max - log(sum(exp)) is "
        "finite, and what every runtime computes.",
    ),
    Correction(
        "LRN",
        "lrn",
        "As many channels are normalized as there are images, the others are copied; only images "
        "of two dimensions are taken.",
    ),
    Correction(
        "MaxRoiPool",
        "max_roi_pool",
        "It has no implementation.",
    ),
    Correction(
        "SequenceInsert",
        "sequence_insert",
        "It takes the position modulo the length; the text allows the length itself: append.",
    ),
    Correction(
        "Unique",
        "unique",
        "Rows of texts cannot be compared. With sorted=0 rows are taken from axis 0 whatever the "
        "axis is, and a single result stays sorted.",
    ),
)


def is_corrected_case(name: str) -> bool:
    """Return whether the expected outputs of a published test case have a defect of this table."""
    return any(name in c.cases for c in TABLE)


@cache
def corrected() -> tuple[type[Any], ...]:
    """Return the corrected operators for onnx.reference: classes of their ONNX names."""
    return tuple(
        getattr(importlib.import_module(f"{__name__}.{c.module}"), c.operator) for c in TABLE
    )


def corrected_evaluator(model: Any) -> Any:
    """Make an onnx.reference evaluator of a model, with all corrections."""
    from onnx.reference import ReferenceEvaluator

    return ReferenceEvaluator(model, new_ops=list(corrected()))
