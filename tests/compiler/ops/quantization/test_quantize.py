"""Tests of quantization: granularities, types, opsets absent from onnx.reference, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.errors import CompileError
from compiler.ir.operator import Tensor
from compiler.ir.types import DType, tensor
from compiler.ops.quantization.dynamic_quantize import dynamic_quantize
from compiler.ops.quantization.quantize import dequantize, quantize
from tests.onnx_nodes import by_onnxruntime, computed, expected, imported, normal

WHOLE = ["u8", "i8", "u16", "i16", "u4", "i4", "u2", "i2"]


def numbers(*shape: int, dtype: str, seed: int = 0) -> np.ndarray:
    """Return random numbers over the entire range of a type."""
    t = DType.parse(dtype)
    codes = np.random.default_rng(seed).integers(0, 1 << t.bits, shape)
    return codes.astype(f"u{t.nbytes}").view(t.numpy)


@pytest.mark.parametrize("by", ["reference", "lowering"])
@pytest.mark.parametrize("dtype", [*WHOLE, "f4e2m1"])
def test_every_granularity_is_that_of_onnx(dtype: str, by: str) -> None:
    x = 9 * normal(2, 6, 3)
    for shape, attrs in (((), {}), ((6,), {}), ((3,), {"axis": 2}), ((2, 3, 3), {"block_size": 2})):
        scale = np.abs(normal(*shape, seed=2)) + np.float32(0.1)
        zero = numbers(*shape, dtype=dtype, seed=3)
        got = computed("QuantizeLinear", x, scale, zero, opset=25, by=by, **attrs)
        needed = expected("QuantizeLinear", x, scale, zero, opset=25, **attrs)
        np.testing.assert_array_equal(got.astype(np.float32), needed.astype(np.float32))
        if dtype == "f4e2m1":
            zero = None  # onnx.reference does not subtract the zero point here, unlike the formula
        back = computed("DequantizeLinear", got, scale, zero, opset=25, by=by, **attrs)
        needed = expected("DequantizeLinear", got, scale, zero, opset=25, **attrs)
        np.testing.assert_allclose(back, needed, rtol=1e-6)


@pytest.mark.parametrize("by", ["reference", "lowering"])
@pytest.mark.parametrize("opset", [10, 13])
@pytest.mark.parametrize("dtype", ["u8", "i8"])
def test_early_opsets_are_those_of_onnx_runtime(dtype: str, opset: int, by: str) -> None:
    x, scale = 9 * normal(2, 4, 3), np.array(0.11, np.float32)
    zero = numbers(dtype=dtype, seed=1)
    if opset >= 13:
        scale, zero = np.array([0.1, 0.2, 0.3, 0.5], np.float32), numbers(4, dtype=dtype)
    got = computed("DequantizeLinear", numbers(2, 4, 3, dtype=dtype), scale, zero, opset=opset)
    q = numbers(2, 4, 3, dtype=dtype)
    np.testing.assert_array_equal(
        got, by_onnxruntime("DequantizeLinear", q, scale, zero, opset=opset, result=DType.f32)
    )
    result = DType.parse(dtype)
    np.testing.assert_array_equal(
        computed("QuantizeLinear", x, scale, zero, opset=opset, by=by),
        by_onnxruntime("QuantizeLinear", x, scale, zero, opset=opset, result=result),
    )


def test_halves_go_to_the_even_number_before_the_zero_point_is_added() -> None:
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 1000, -1000], np.float32)
    got = computed("QuantizeLinear", x, np.array(1, np.float32), np.array(1, np.int8), opset=10)
    assert got.tolist() == [1, 3, 3, 1, -1, 127, -128]


def test_the_division_is_as_precise_as_the_scale_unless_stated() -> None:
    x, scale = normal(64, seed=4).astype(np.float16), np.array(0.0123, np.float16)
    for attrs in ({}, {"precision": DType.f32.onnx}):
        np.testing.assert_array_equal(
            computed("QuantizeLinear", x, scale, opset=23, by="lowering", **attrs),
            expected("QuantizeLinear", x, scale, opset=23, **attrs),
        )


def test_floats_of_8_bits_saturate_unless_told_otherwise() -> None:
    x, one, zero = (
        np.array([1e9, -3], np.float32),
        np.array(1, np.float32),
        numbers(dtype="f8e4m3fn") * 0,
    )
    for saturate, first in ((1, 448.0), (0, np.nan)):
        got = computed("QuantizeLinear", x, one, zero, opset=19, saturate=saturate)
        np.testing.assert_array_equal(got.astype(np.float32), [first, -3])


def test_a_tensor_of_zeros_has_a_scale_too() -> None:
    _, scale, zero = (computed_part(np.zeros(3, np.float32), i) for i in range(3))
    assert (scale, zero) == (np.float32(1 / 255), 0)


def computed_part(x: np.ndarray, part: int) -> np.ndarray:
    assert dynamic_quantize.reference_fn is not None
    return dynamic_quantize.reference_fn(x)[part]


def x(text: str) -> Tensor:
    return Tensor("x", tensor(text))


def test_parameters_that_do_not_fit_are_refused() -> None:
    def refused(code: str, *operands: str, **attrs: object) -> None:
        with pytest.raises(CompileError) as e:
            dequantize(*map(x, operands), to=DType.f32, **attrs).types()
        assert e.value.code == code

    refused("E-OP-SHAPE", "u8[2,3]", "f32[4]")
    refused("E-OP-SHAPE", "u8[2,3]", "f32[2,2]")
    refused("E-OP-SHAPE", "u8[2,3]", "f32[2,3]", block_size=2)
    refused("E-OP-SHAPE", "u8[2,3]", "f32[3]", "u8[2]")
    refused("E-OP-AXIS", "u8[2,3]", "f32[3]", axis=2)
    refused("E-OP-DTYPE", "u8[2,3]", "f32[]", "i8[]")
    refused("E-OP-DTYPE", "i64[2,3]", "f32[]")
    refused("E-OP-ATTRIBUTE", "u8[2,3]", "f32[3]", block_size=-1)


def test_types_that_are_no_target_are_refused() -> None:
    for to, precision in ((DType.i32, DType.f32), (DType.u8, DType.i32), (DType.f16, DType.f32)):
        with pytest.raises(CompileError) as e:
            quantize(x("f32[2]"), x("f32[]"), to=to, precision=precision).types()
        assert e.value.code == "E-OP-ATTRIBUTE"
    with pytest.raises(CompileError, match="zero points of u8 must be u8"):
        quantize(x("f32[2]"), x("f32[]"), x("i8[]"), to=DType.u8, precision=DType.f32).types()


def test_the_result_may_be_stated_or_follows_from_the_zero_point() -> None:
    def to(*operands: str, **attrs: Any) -> DType:
        return imported("QuantizeLinear", *operands, opset=21, **attrs).type.dtype

    assert to("f32[2]", "f32[]") is DType.u8
    assert to("f32[2]", "f32[]", "i4[]") is DType.i4
    assert to("f32[2]", "f32[]", output_dtype=DType.i16.onnx) is DType.i16
    assert imported("DequantizeLinear", "i8[2]", "f16[]", opset=19).type.dtype is DType.f16
