"""Tests of activations: special numbers, attributes, ONNX's defaults and older opsets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.errors import CompileError
from compiler.ir.operator import Tensor
from compiler.ir.types import tensor
from compiler.ops.elementwise.activations import gelu, prelu, relu, softplus
from tests.onnx_nodes import computed, expected, normal


def test_relu_keeps_nan_and_infinity() -> None:
    assert relu.reference_fn is not None
    got = relu.reference_fn(np.array([np.nan, np.inf, -np.inf, -0.0], np.float32))
    np.testing.assert_array_equal(got, [np.nan, np.inf, 0, 0])


def test_softplus_does_not_overflow() -> None:
    assert softplus.reference_fn is not None
    got = softplus.reference_fn(np.array([1000.0, -1000.0, 0.0], np.float32))
    np.testing.assert_allclose(got, [1000, 0, np.log(2)], rtol=1e-6)


@pytest.mark.parametrize(
    ("op_type", "opset", "attrs"),
    [
        ("LeakyRelu", 16, {}),
        ("LeakyRelu", 16, {"alpha": 0.3}),
        ("Elu", 6, {}),
        ("Elu", 6, {"alpha": 2.5}),
        ("Selu", 6, {}),
        ("Selu", 6, {"alpha": 2.0, "gamma": 0.5}),
        ("HardSigmoid", 6, {}),
        ("HardSigmoid", 6, {"alpha": 0.5, "beta": 0.1}),
        ("ThresholdedRelu", 10, {}),
        ("ThresholdedRelu", 10, {"alpha": 0.2}),
        ("Celu", 12, {}),
        ("Celu", 12, {"alpha": 0.7}),
        ("Gelu", 20, {}),
        ("Gelu", 20, {"approximate": "tanh"}),
        ("HardSwish", 14, {}),
        ("Mish", 18, {}),
        ("Shrink", 9, {}),
        ("Shrink", 9, {"lambd": 0.3, "bias": 0.2}),
        ("Softplus", 1, {}),
        ("Softsign", 1, {}),
        ("Sigmoid", 13, {}),
        ("Erf", 13, {}),
    ],
)
@pytest.mark.parametrize("by", ["reference", "lowering"])
def test_defaults_and_attributes_are_those_of_onnx(
    op_type: str, opset: int, attrs: dict[str, Any], by: str
) -> None:
    x = 2 * normal(3, 5)
    got = computed(op_type, x, opset=opset, by=by, **attrs)
    np.testing.assert_allclose(
        got, expected(op_type, x, opset=opset, **attrs), rtol=2e-5, atol=1e-6
    )


def test_an_old_slope_belongs_to_the_channels() -> None:
    x, slope = normal(2, 3, 4, 3), np.array([0.1, 0.2, 0.3], np.float32)
    old = computed("PRelu", x, slope, opset=6)
    np.testing.assert_allclose(old, np.where(x < 0, x * slope[:, None, None], x))
    new = computed("PRelu", x, slope, opset=9)
    np.testing.assert_allclose(new, np.where(x < 0, x * slope, x))
    shared = computed("PRelu", x, slope[:1], opset=6)
    np.testing.assert_allclose(shared, np.where(x < 0, x * slope[0], x))


def test_a_slope_larger_than_the_tensor_is_refused() -> None:
    with pytest.raises(CompileError, match=r"the slope f32\[2,3\] to f32\[3\]") as e:
        prelu(Tensor("x", tensor("f32[3]")), Tensor("slope", tensor("f32[2,3]"))).types()
    assert e.value.code == "E-OP-SHAPE"


def test_gelu_knows_two_formulas() -> None:
    with pytest.raises(CompileError, match="none or tanh, got 'fast'") as e:
        gelu(Tensor("x", tensor("f32[3]")), approximate="fast").types()
    assert e.value.code == "E-OP-ATTRIBUTE"


def test_shrink_of_integers_is_cut_off_from_f32() -> None:
    x = np.array([-5, -2, 0, 2, 7], np.int32)
    got = computed("Shrink", x, opset=9, bias=0.5, lambd=1.5)
    np.testing.assert_array_equal(got, np.array([-4, -1, 0, 1, 6], np.int32))
