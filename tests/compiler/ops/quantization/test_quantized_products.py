"""Tests of quantized products: exact sums, a final rounding, one kernel, equal to peers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import compiler
from compiler.errors import CompileError
from compiler.ir.constant import Constant
from compiler.ir.operator import Tensor
from compiler.ir.types import DType, tensor
from compiler.ops.quantization.quantized_conv import conv_integer
from compiler.ops.quantization.quantized_matmul import matmul_integer
from compiler.ops.quantization.requantize import requantize
from tests.kernel_runs import Array
from tests.onnx_nodes import by_onnxruntime, computed, imported, seven_bits

KINDS = [("u8", "i8"), ("u8", "u8"), ("i8", "i8")]


def whole(*shape: int, dtype: str, seed: int = 0) -> Array:
    """Return random integers over the entire range of a type."""
    t = DType.parse(dtype).numpy
    limits = np.iinfo(t)
    return np.random.default_rng(seed).integers(limits.min, limits.max + 1, shape).astype(t)


def scales(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).uniform(0.001, 0.02, shape).astype(np.float32)


@pytest.mark.parametrize("by", ["reference", "lowering"])
@pytest.mark.parametrize(("a_type", "b_type"), KINDS)
def test_products_with_a_zero_point_per_column_are_those_of_onnx_runtime(
    a_type: str, b_type: str, by: str
) -> None:
    a, b = whole(2, 3, 70, dtype=a_type), seven_bits(whole(70, 5, dtype=b_type, seed=1))
    b_scale, b_zero = scales(5, seed=2), whole(5, dtype=b_type, seed=3)
    y_zero = np.array(3, DType.parse(a_type).numpy)
    operands = (a, scales(), y_zero, b, b_scale, b_zero, np.array(1.7, np.float32), y_zero)
    if (a_type, b_type) != ("i8", "u8"):
        made = computed("QLinearMatMul", *operands, opset=10, by=by)
        np.testing.assert_array_equal(made, by_onnxruntime("QLinearMatMul", *operands, opset=10))
    made = computed("MatMulInteger", a, b, y_zero, b_zero, opset=10, by=by)
    needed = np.matmul(a.astype(np.int64) - 3, b.astype(np.int64) - b_zero.astype(np.int64))
    np.testing.assert_array_equal(made, needed)


@pytest.mark.parametrize("by", ["reference", "lowering"])
@pytest.mark.parametrize(("x_type", "w_type"), KINDS)
@pytest.mark.parametrize("groups", [1, 3])
def test_convolutions_with_a_scale_per_channel_are_those_of_onnx_runtime(
    x_type: str, w_type: str, groups: int, by: str
) -> None:
    x = whole(2, 6, 7, 9, dtype=x_type)
    w = seven_bits(whole(9, 6 // groups, 3, 2, dtype=w_type, seed=1))
    x_zero, y_zero = whole(dtype=x_type, seed=2), whole(dtype=x_type, seed=3)
    w_zero, b = np.zeros(9, w.dtype), whole(9, dtype="i16", seed=4).astype(np.int32)
    operands = (x, scales(), x_zero, w, scales(9), w_zero, np.array(0.9, np.float32), y_zero, b)
    attrs: dict[str, Any] = {"pads": [1, 0, 2, 1], "strides": [2, 1], "group": groups}
    made = computed("QLinearConv", *operands, opset=10, by=by, **attrs)
    needed = by_onnxruntime("QLinearConv", *operands, opset=10, **attrs)
    np.testing.assert_array_equal(made, needed)


def test_long_sums_are_exact() -> None:
    a, b = np.full((2, 5000), 255, np.uint8), np.full((5000, 40), 255, np.uint8)
    graph = compiler.parse("""
    graph g(a: u8[2,5000], b: u8[5000,40]) {
      y: i32[2,40] = matmul_integer(a, b)
      return y
    }""")
    made = compiler.compile(graph).run({"a": a, "b": b})["y"]
    assert (made == 5000 * 255**2).all()


CONV = """
graph g(x: u8[1,8,6,6], w: i8[16,8,3,3]) {
  const zero: u8[] = literal(128)
  const s: f32[16,1,1] = splat(0.001)
  const b: i32[16,1,1] = splat(-70)
  a: i32[1,16,6,6] = conv_integer(x, w, zero, strides=[1,1], pads=[1,1,1,1], dilations=[1,1])
  c: i32[1,16,6,6] = add(a, b)
  y: u8[1,16,6,6] = requantize(c, s, zero, to=u8)
  return y
}"""


def test_sums_and_their_rounding_are_one_kernel_that_keeps_them_in_registers() -> None:
    graph = compiler.parse(CONV)
    program = compiler.compile(graph)
    (kernel,) = program.kernels
    assert kernel.native
    assert kernel.moves
    assert any("vector" in move for move in kernel.moves)
    given = {"x": whole(1, 8, 6, 6, dtype="u8"), "w": whole(16, 8, 3, 3, dtype="i8", seed=1)}
    needed = compiler.reference(graph, given)["y"]
    np.testing.assert_array_equal(program.run(given)["y"], needed)


def test_what_is_no_byte_and_zero_points_that_do_not_fit_are_refused() -> None:
    def x(text: str) -> Tensor:
        return Tensor("x", tensor(text))

    window = {"strides": (1, 1), "pads": (0,) * 4, "dilations": (1, 1)}
    image, weights = x("u8[1,2,5,5]"), x("i8[3,2,2,2]")
    for code, call in (
        ("E-OP-DTYPE", matmul_integer(x("i32[2,3]"), x("u8[3,2]"))),
        ("E-OP-DTYPE", matmul_integer(x("u8[2,3]"), x("u8[3,2]"), x("i8[]"))),
        ("E-OP-SHAPE", matmul_integer(x("u8[2,3]"), x("u8[4,2]"))),
        ("E-OP-SHAPE", matmul_integer(x("u8[2,3]"), x("u8[3,2]"), x("u8[3]"))),
        ("E-OP-SHAPE", matmul_integer(x("u8[2,3]"), x("u8[3,2]"), None, x("u8[3]"))),
        ("E-OP-SHAPE", matmul_integer(x("u8[]"), x("u8[3,2]"))),
        ("E-OP-DTYPE", conv_integer(image, x("f32[3,2,2,2]"), **window)),
        ("E-OP-DTYPE", conv_integer(image, weights, x("i8[]"), **window)),
        ("E-OP-SHAPE", conv_integer(image, weights, None, x("i8[2]"), **window)),
        ("E-OP-SHAPE", conv_integer(image, weights, x("u8[2]"), **window)),
        ("E-OP-DTYPE", requantize(x("f64[2]"), x("f32[]"), to=DType.u8)),
        ("E-OP-DTYPE", requantize(x("i32[2]"), x("f64[]"), to=DType.u8)),
        ("E-OP-DTYPE", requantize(x("i32[2]"), x("f32[]"), x("i8[]"), to=DType.u8)),
        ("E-OP-SHAPE", requantize(x("i32[2]"), x("f32[1,1]"), to=DType.u8)),
        ("E-OP-ATTRIBUTE", requantize(x("i32[2]"), x("f32[]"), to=DType.i32)),
    ):
        with pytest.raises(CompileError) as e:
            call.types()
        assert e.value.code == code


def test_other_types_are_left_to_the_reference() -> None:
    assert imported("MatMulInteger", "i32[2,3]", "i32[3,2]", opset=10) is None
    f8, s = "f8e4m3fn[]", "f32[]"
    f8s = ("f8e4m3fn[2,3]", s, f8, "f8e4m3fn[3,2]", s, f8, s, f8)
    assert imported("QLinearMatMul", *f8s, opset=21) is None


@pytest.mark.parametrize(("n_rows", "transposed"), [(3, False), (50, True)])
def test_weights_are_dequantized_inside_the_product(n_rows: int, transposed: bool) -> None:
    shape, axis = ((37, 70), 0) if transposed else ((70, 37), 1)
    flag = ", transpose_b=true" if transposed else ""
    w, z = whole(*shape, dtype="i8"), whole(37, dtype="i8", seed=1)
    s = scales(37, seed=2)
    graph = compiler.parse(f"""
    graph g(x: f32[{n_rows},70]) {{
      const w: i8[{shape[0]},{shape[1]}] = splat(0)
      const s: f32[37] = splat(0)
      const z: i8[37] = splat(0)
      d: f32[{shape[0]},{shape[1]}] = dequantize(w, s, z, to=f32, axis={axis})
      y: f32[{n_rows},37] = matmul(x, d{flag})
      return y
    }}""")
    constants = {k: Constant.of(v) for k, v in {"w": w, "s": s, "z": z}.items()}
    graph = replace(graph, constants=constants)
    (kernel,) = (program := compiler.compile(graph, pipeline="fuse")).kernels
    assert kernel.native
    x = np.random.default_rng(3).normal(size=(n_rows, 70)).astype(np.float32)
    columns = (w.T if transposed else w).astype(np.float64) - z
    np.testing.assert_allclose(program.run({"x": x})["y"], x @ (columns * s), rtol=2e-5, atol=1e-3)
