"""Tests of casts: truncation, casts left to the reference, and casts in shape computations."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto

from compiler.errors import CompileError
from compiler.ir import affine
from compiler.ir.infer import evaluate_known
from compiler.ir.operator import Tensor
from compiler.ir.types import DType, tensor
from compiler.ops.elementwise.cast import (
    FLOATS_OF_8_BITS,
    ROUND_MODES,
    cast,
    cast_saturated,
    cast_to_power,
)
from tests.onnx_nodes import computed, expected, imported, normal

PLAIN = ["f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool"]


@pytest.mark.parametrize("to", PLAIN)
@pytest.mark.parametrize("source", PLAIN)
def test_every_pair_of_plain_types_converts_as_onnx_says(source: str, to: str) -> None:
    x = np.array([0, 1, 2.7, 100.5, 3]).astype(DType.parse(source).numpy)
    target = DType.parse(to)
    for by in ("reference", "lowering"):
        got = computed("Cast", x, opset=13, by=by, to=target.onnx)
        assert got.dtype == target.numpy
        np.testing.assert_array_equal(
            got.astype(np.float64), expected("Cast", x, opset=13, to=target.onnx).astype(np.float64)
        )


def test_negative_fractions_are_cut_off_towards_zero() -> None:
    x = np.array([-2.9, -0.5, 2.9], np.float32)
    assert computed("Cast", x, opset=13, to=TensorProto.INT32).tolist() == [-2, 0, 2]


@pytest.mark.parametrize("to", ["string", "c64"])
def test_other_types_are_left_to_the_reference(to: str) -> None:
    assert imported("Cast", "f32[2]", opset=19, to=DType.parse(to).onnx) is None
    with pytest.raises(CompileError, match=f"does not convert {to}") as e:
        cast(Tensor("x", tensor("f32[2]")), to=DType.parse(to)).types()
    assert e.value.code == "E-OP-DTYPE"


EDGES = [0, -0.0, np.nan, np.inf, -np.inf, 0.26, -5.1, 232, 248, 449, 464, -470, 57343, 61441, 1e-9]


@pytest.mark.parametrize("saturate", [0, 1])
@pytest.mark.parametrize("to", FLOATS_OF_8_BITS, ids=str)
@pytest.mark.parametrize("source", [np.float16, np.float32])
def test_floats_of_8_bits_saturate_or_not_as_onnx_says(source: type, to: DType, saturate: int):
    x = np.array(EDGES, source)
    needed = expected("Cast", x, opset=19, to=to.onnx, saturate=saturate)
    for by in ("reference", "lowering"):
        got = computed("Cast", x, opset=19, by=by, to=to.onnx, saturate=saturate)
        np.testing.assert_array_equal(got.astype(np.float32), needed.astype(np.float32))


@pytest.mark.parametrize("round_mode", ROUND_MODES)
def test_powers_of_two_are_those_of_onnx_between_the_ends(round_mode: str):
    x = np.concatenate([2.0 ** np.arange(-120, 121, 7), 0.1 * np.arange(1, 60)]).astype(np.float32)
    attrs = {"to": DType.f8e8m0.onnx, "round_mode": round_mode}
    needed = expected("Cast", x, opset=24, **attrs)
    for by in ("reference", "lowering"):
        got = computed("Cast", x, opset=24, by=by, **attrs)
        np.testing.assert_array_equal(got.view(np.uint8), needed.view(np.uint8))


def test_ends_of_the_powers_of_two_are_those_of_the_tables_of_onnx():
    x = np.array([0, np.nan, np.inf, 3e38, 1e-45], np.float32)
    up = computed("Cast", x, opset=24, to=DType.f8e8m0.onnx)
    assert up.view(np.uint8).tolist() == [0, 255, 254, 254, 0]
    attrs = {"saturate": 0, "round_mode": "nearest"}
    assert np.isnan(computed("Cast", x, opset=24, to=DType.f8e8m0.onnx, **attrs)).all()


def test_there_are_no_other_ways_to_round():
    with pytest.raises(CompileError, match="rounds up, down or nearest") as e:
        cast_to_power(Tensor("x", tensor("f32[2]")), round_mode="odd").types()
    assert e.value.code == "E-OP-ATTRIBUTE"
    with pytest.raises(CompileError, match="returns 8-bit floats, not f16"):
        cast_saturated(Tensor("x", tensor("f32[2]")), to=DType.f16).types()


def test_the_type_may_come_from_an_operand() -> None:
    x, like = normal(3), np.zeros(2, np.int32)
    assert computed("CastLike", x, like, opset=15).dtype == np.int32
    made = imported("CastLike", "f32[3]", "f32[2]", opset=15)
    assert isinstance(made, Tensor)


def test_the_target_must_be_an_element_type() -> None:
    with pytest.raises(CompileError, match="needs to as DType, got 'f32'") as e:
        cast(Tensor("x", tensor("f32[2]")), to="f32").types()
    assert e.value.code == "E-OP-ATTRIBUTE"


def test_symbols_pass_through_integer_casts_only() -> None:
    given = np.empty(1, np.object_)
    given[0] = affine.symbol("N")
    assert evaluate_known(cast, [given], {"to": DType.i64})[0].tolist() == [affine.symbol("N")]
    assert evaluate_known(cast, [given], {"to": DType.f32}) == ()
