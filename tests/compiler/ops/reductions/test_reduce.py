"""Tests of reductions: axes in all ONNX forms, empty axes, and shape computations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.compute.builder import Lowering
from compiler.errors import CompileError
from compiler.ir import affine
from compiler.ir.infer import evaluate_known
from compiler.ir.operator import OPERATORS, Call, Tensor
from compiler.ir.types import tensor
from compiler.ops.reductions.reduce import reduce_mean, reduce_sum
from tests.onnx_nodes import computed, expected, imported, normal

NAMES = {
    "ReduceSum": 13, "ReduceMean": 18, "ReduceMax": 18, "ReduceMin": 18, "ReduceProd": 18,
    "ReduceL1": 18, "ReduceL2": 18, "ReduceSumSquare": 18, "ReduceLogSum": 18,
    "ReduceLogSumExp": 18,
}  # fmt: skip
"""Operators, with the opset from which the axes are an operand."""


@pytest.mark.parametrize("op_type", list(NAMES))
@pytest.mark.parametrize("axes", [[1], [0, 2], [-1], [-3, 1], None])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_axes_may_be_attributes_or_operands(
    op_type: str, axes: list[int] | None, keepdims: int
) -> None:
    x = np.abs(normal(2, 3, 4))
    given = {} if axes is None else {"axes": axes}
    old = computed(op_type, x, opset=11, keepdims=keepdims, **given)
    operand = None if axes is None else np.array(axes)
    new = computed(op_type, x, operand, opset=NAMES[op_type], keepdims=keepdims)
    needed = expected(op_type, x, opset=11, keepdims=keepdims, **given)
    np.testing.assert_allclose(old, needed, rtol=1e-5)
    np.testing.assert_array_equal(old, new)


def test_axes_are_counted_from_the_front_and_in_order() -> None:
    made = imported("ReduceSum", "f32[2,3,4]", np.array([-1, 0]), opset=13)
    assert isinstance(made, Call)
    assert made.attrs["axes"] == (0, 2)


def test_axes_that_are_not_known_are_left_to_the_reference() -> None:
    assert imported("ReduceSum", normal(2, 3), np.array([0]), opset=13, known=False) is None
    assert imported("ReduceSum", "f32[...]", opset=13) is None


@pytest.mark.parametrize("op_type", list(NAMES))
def test_no_axes_mean_all_of_them_unless_the_node_says_none(op_type: str) -> None:
    x, none = np.abs(normal(2, 3)), np.array([], np.int64)
    opset = NAMES[op_type]
    got = computed(op_type, x, none, opset=opset)
    np.testing.assert_allclose(got, expected(op_type, x, none, opset=opset), rtol=1e-5)
    assert got.shape == (1, 1)
    kept = imported(op_type, x, none, opset=opset, noop_with_empty_axes=1)
    assert kept.type.shape == (2, 3)


@pytest.mark.parametrize("axes", [(-1,), (2,), (1, 0), (0, 0)])
def test_axes_outside_or_out_of_order_are_refused(axes: tuple[int, ...]) -> None:
    with pytest.raises(CompileError, match="ascending axes from 0 to 1") as e:
        reduce_sum(Tensor("x", tensor("f32[2,3]")), axes=axes).types()
    assert e.value.code == "E-OP-AXIS"


@pytest.mark.parametrize("keepdims", [True, False])
def test_open_sizes_stay_where_they_are_not_reduced(keepdims: bool) -> None:
    made = reduce_mean(Tensor("x", tensor("f32[N,3,H]")), axes=(1,), keepdims=keepdims)
    assert made.type == tensor("f32[N,1,H]" if keepdims else "f32[N,H]")


@pytest.mark.parametrize(
    ("name", "needed"),
    [("reduce_prod", 240), ("reduce_sum", 20), ("reduce_max", 10), ("reduce_min", 4)],
)
def test_shape_arithmetic_goes_through_reductions(name: str, needed: int) -> None:
    given = np.empty(3, np.object_)
    given[:] = [affine.symbol("N"), 4, 6]
    (found,) = evaluate_known(OPERATORS[name], [given], {"axes": (0,), "keepdims": False})
    assert found.shape == ()
    assert affine.substitute(found.item(), {"N": 10}) == needed


def test_a_mean_is_a_sum_times_a_factor_on_an_axis_of_its_own() -> None:
    k = Lowering("t")
    x, out = k.input("x", tensor("f32[2,4,5]")), k.output("out", tensor("f32[2,1,5]"))
    assert reduce_mean.lower_fn is not None
    reduce_mean.lower_fn(k, x, out, axes=(1,), keepdims=True)
    (stage,) = k.computation().stages
    assert stage.is_identity_indexed()
    assert str(stage.value) == "mul(reduce_add([r], x[i, r, i1]), f32(0.25))"


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("by", ["reference", "lowering"])
def test_the_mean_of_integers_is_cut_off(dtype: str, by: str) -> None:
    x = np.array([[7, 8], [-7, -8]], dtype)
    got = computed("ReduceMean", x, opset=11, by=by, axes=[1], keepdims=0)
    assert got.tolist() == [7, -7]
    assert got.dtype == dtype


@pytest.mark.parametrize("by", ["reference", "lowering"])
def test_a_logarithm_of_exponentials_does_not_overflow(by: str) -> None:
    x = np.array([[1000, 1000], [-1000, -1000], [-np.inf, -np.inf], [np.inf, 0]], np.float32)
    got = computed("ReduceLogSumExp", x, opset=11, by=by, axes=[1], keepdims=0)
    np.testing.assert_allclose(got, [1000 + np.log(2), -1000 + np.log(2), -np.inf, np.inf])


def test_reductions_of_nothing() -> None:
    x: Any = np.zeros((2, 0), np.float32)
    for op_type, needed in [("ReduceSum", 0), ("ReduceProd", 1), ("ReduceMax", -np.inf),
                            ("ReduceMin", np.inf)]:  # fmt: skip
        for by in ("reference", "lowering"):
            got = computed(op_type, x, opset=11, by=by, axes=[1], keepdims=0)
            assert got.tolist() == [needed] * 2
