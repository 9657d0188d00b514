"""Softmax: stability, axes, and the rows of ONNX before opset 13."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.errors import CompileError
from compiler.ir.operator import Call, Tensor
from compiler.ir.types import tensor
from compiler.ops.softmax import softmax
from tests.onnx_nodes import by_onnxruntime, computed, expected, imported, normal


@pytest.mark.parametrize("op_type", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize("axis", [-3, -1, 0, 1, 2])
def test_from_opset_13_an_axis_is_an_axis(op_type: str, axis: int) -> None:
    x = normal(2, 3, 4)
    got = computed(op_type, x, opset=13, axis=axis)
    np.testing.assert_allclose(got, expected(op_type, x, opset=13, axis=axis), rtol=2e-5)


@pytest.mark.parametrize("op_type", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 3, 1), (2, 3, 1, 1), (5,), (2, 1, 1), (1, 3, 2)])
@pytest.mark.parametrize("by", ["reference", "lowering"])
def test_before_opset_13_the_axes_behind_are_one_row(
    op_type: str, shape: tuple[int, ...], by: str
) -> None:
    x = normal(*shape)
    for axis in range(-len(shape), len(shape)):
        got = computed(op_type, x, opset=11, by=by, axis=axis)
        needed = by_onnxruntime(op_type, x, opset=11, axis=axis)
        np.testing.assert_allclose(got, needed, rtol=1e-4, atol=1e-6)


def test_old_rows_need_no_reshape_where_they_lie_on_one_axis() -> None:
    made = imported("Softmax", "f32[N,1000]", opset=7)
    assert isinstance(made, Call)
    assert (made.op.name, made.attrs["axis"]) == ("softmax", 1)
    image = imported("Softmax", "f32[N,1000,1,1]", opset=7)
    assert isinstance(image, Call)
    assert (image.op.name, image.attrs["axis"]) == ("softmax", 1)
    assert imported("Softmax", "f32[2,3,4]", opset=7).op.name == "reshape"
    assert imported("Softmax", "f32[N,3,4]", opset=7) is None


def test_large_scores_do_not_overflow() -> None:
    x = np.array([[1e30, -1e30, 0], [-np.inf, 0, 0]], np.float32)
    for by in ("reference", "lowering"):
        got = computed("Softmax", x, opset=13, by=by)
        np.testing.assert_array_equal(got, [[1, 0, 0], [0, 0.5, 0.5]])


@pytest.mark.parametrize("axis", [-3, 2])
def test_an_axis_outside_is_refused(axis: int) -> None:
    with pytest.raises(CompileError, match=rf"axis {axis} is outside \[-2, 2\)") as e:
        softmax(Tensor("x", tensor("f32[2,3]")), axis=axis).types()
    assert e.value.code == "E-OP-AXIS"
