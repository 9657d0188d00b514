"""Tests of the corrections of onnx.reference, which ONNX Runtime confirms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

from compiler.ir.operator import ONNX
from compiler.ops.evaluation.corrections import TABLE, corrected
from tests.onnx_nodes import by_onnxruntime, computed, expected, model_of, normal

Row = tuple[str, list[Any], dict[str, Any]]


def scales(*values: float) -> np.ndarray[Any, Any]:
    return np.array(values, np.float32)


def resize(factors: tuple[float, ...], **attrs: Any) -> Row:
    return (
        "Resize",
        [normal(2, 3, 13, 10), None, scales(1, 1, *factors)],
        {"mode": "linear", **attrs},
    )


def far(*shape: int) -> np.ndarray[Any, Any]:
    return normal(*shape, seed=3) * np.float32(1.4)


AXES_AS_SET = [c.operator for c in TABLE if c.module == "repeated_axes"]

ALIGNED, PYTORCH = (
    {"coordinate_transformation_mode": m} for m in ("align_corners", "pytorch_half_pixel")
)
CUBIC = {"mode": "cubic", "padding_mode": "border"}

ROWS: dict[str, Row] = {
    "linear aligned": resize((0.6, 1.7), **ALIGNED),
    "cubic aligned": resize((0.6, 0.45), mode="cubic", **ALIGNED),
    "nearest aligned": resize((1.7, 0.45), mode="nearest", **ALIGNED),
    "cubic to one": resize((0.1, 0.1), mode="cubic", **PYTORCH),
    "rounded size": resize((2.0, 0.7)),
    "nearest on elements": resize(
        (1.7, 0.6),
        mode="nearest",
        nearest_mode="floor",
        coordinate_transformation_mode="asymmetric",
    ),
    "cubic border": ("GridSample", [normal(2, 3, 5, 7), far(2, 4, 3, 2)], {**CUBIC}),
    "cubic border aligned": (
        "GridSample",
        [normal(2, 3, 5, 7), far(2, 4, 3, 2)],
        {**CUBIC, "align_corners": 1},
    ),
    "groups": (
        "ConvTranspose",
        [normal(2, 6, 5, 4), normal(6, 2, 3, 2, seed=1), normal(4, seed=2)],
        {"group": 2, "strides": [2, 1]},
    ),
    "wanted shape": (
        "ConvTranspose",
        [normal(2, 3, 5, 4), normal(3, 2, 3, 2, seed=1)],
        {"strides": [2, 3], "output_shape": [10, 9]},
    ),
    "regions": (
        "MaxRoiPool",
        [normal(2, 3, 7, 9), np.array([[0, 1, 2, 5.5, 6], [1, 0, 0, 8, 3]], np.float32)],
        {"pooled_shape": [2, 3], "spatial_scale": 0.75},
    ),
    "neighbouring channels": (
        "LRN",
        [normal(2, 5, 3, 4) * np.float32(30)],
        {"size": 3, "alpha": 0.01, "bias": 2.0},
    ),
    **{op: (op, [normal(2, 1, 3), np.array([1, -2])], {}) for op in AXES_AS_SET},
    "log of nothing": ("LogSoftmax", [normal(3, 5, 2) * np.float32(200)], {"axis": 1}),
}


@pytest.mark.parametrize("name", ROWS)
def test_corrections_agree_with_onnx_runtime_and_with_ours(name: str) -> None:
    op_type, operands, attrs = ROWS[name]
    needed = by_onnxruntime(op_type, *operands, opset=20, **attrs)
    made = expected(op_type, *operands, opset=20, **attrs)
    np.testing.assert_allclose(made, needed, rtol=1e-4, atol=1e-4)
    for by in ("reference", "lowering"):
        if op_type not in ONNX:
            continue  # only onnx.reference implements the operator
        ours = computed(op_type, *operands, opset=20, by=by, **attrs)
        np.testing.assert_allclose(ours, needed, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ROWS)
def test_without_its_correction_onnx_reference_says_something_else(name: str) -> None:
    op_type, operands, attrs = ROWS[name]
    model, feeds = model_of(op_type, *operands, opset=20, **attrs)
    needed = expected(op_type, *operands, opset=20, **attrs)
    try:
        with np.errstate(all="ignore"):
            plain = np.asarray(ReferenceEvaluator(model).run(None, feeds)[0])
    except (ValueError, RuntimeError, IndexError):
        return  # onnx.reference cannot compute the node
    assert plain.shape != needed.shape or not np.allclose(plain, needed, rtol=1e-4, atol=1e-4)


def test_the_modes_of_opset_16_are_known() -> None:
    operands = (normal(1, 1, 4, 5), far(1, 2, 3, 2))
    old = expected("GridSample", *operands, opset=16, mode="bilinear")
    np.testing.assert_array_equal(old, expected("GridSample", *operands, opset=20, mode="linear"))


@pytest.mark.parametrize("attrs", [{"sorted": 0}, {"axis": 1}, {"axis": -1, "sorted": 0}])
def test_texts_that_differ_are_found_along_any_axis(attrs: dict[str, Any]) -> None:
    texts = np.array([["cd", "b", "cd", ""], ["é", "a", "é", "b"]], object)
    needed = by_onnxruntime("Unique", texts, opset=20, **attrs)
    np.testing.assert_array_equal(expected("Unique", texts, opset=20, **attrs), needed)


def test_every_entry_gives_an_operator_of_its_name_and_a_reason() -> None:
    assert [c.__name__ for c in corrected()] == [c.operator for c in TABLE]
    assert all(c.reason.endswith(".") for c in TABLE)
    tested = {op for op, _, _ in ROWS.values()} | {"SequenceInsert", "Unique"}
    assert tested == {c.operator for c in TABLE}
