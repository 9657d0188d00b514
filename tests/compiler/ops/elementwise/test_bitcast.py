"""Tests of reinterpreting bits as another element type."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.errors import CompileError
from compiler.ir.operator import Tensor
from compiler.ir.types import DType, tensor
from compiler.ops.elementwise.bitcast import bitcast
from tests.onnx_nodes import imported


def test_bits_are_read_between_other_operators_of_one_kernel() -> None:
    graph = compiler.parse("""
    graph g(x: f32[3,7]) {
      a: f32[3,7] = neg(x)
      b: u32[3,7] = bitcast(a, to=u32)
      c: u32[3,7] = bit_not(b)
      y: f32[3,7] = bitcast(c, to=f32)
      return y
    }""")
    program = compiler.compile(graph)
    (kernel,) = program.kernels
    assert kernel.native
    x = np.random.default_rng(0).normal(size=(3, 7)).astype(np.float32)
    np.testing.assert_array_equal(program.run({"x": x})["y"].view(np.uint32), ~(-x).view(np.uint32))


def test_numbers_that_signal_keep_their_bits() -> None:
    for source, signalling in (("f16", 0x7C01), ("bf16", 0x7F81), ("f32", 0x7F800001)):
        kept = DType.parse(source)
        bits = {2: DType.u16, 4: DType.u32}[kept.nbytes]
        x = np.full(33, signalling, bits.numpy).view(kept.numpy)
        graph = compiler.parse(f"""
        graph g(x: {source}[33]) {{
          y: {bits}[33] = bitcast(x, to={bits})
          return y
        }}""")
        assert (compiler.compile(graph).run({"x": x})["y"] == signalling).all()


@pytest.mark.parametrize(
    ("source", "to"),
    [("f16", "i16"), ("u16", "bf16"), ("f64", "i64"), ("bool", "u8"), ("i8", "bool")],
)
def test_generated_code_gives_the_very_bits(source: str, to: str) -> None:
    x = (np.arange(24).reshape(2, 12) % 2).astype(DType.parse(source).numpy)
    graph = compiler.parse(f"""
    graph g(x: {source}[2,12]) {{
      const rows: i64[1] = literal(1)
      a: {source}[1,12] = gather(x, rows, axis=0)
      y: {to}[1,12] = bitcast(a, to={to})
      return y
    }}""")
    program = compiler.compile(graph)
    assert all(k.native for k in program.kernels)
    made = program.run({"x": x})["y"]
    np.testing.assert_array_equal(made, x[1:].view(DType.parse(to).numpy))


def test_types_of_other_sizes_and_texts_are_refused() -> None:
    for x, to in (("f32[2]", DType.i64), ("u4[2]", DType.u8), ("c64[2]", DType.f64)):
        with pytest.raises(CompileError, match="bitcast cannot reinterpret") as e:
            bitcast(Tensor("x", tensor(x)), to=to).types()
        assert e.value.code == "E-OP-DTYPE"
    assert imported("BitCast", "c64[2]", opset=26, to=DType.f64.onnx) is None
