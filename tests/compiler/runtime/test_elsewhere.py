"""Tests of a kernel's code for every known machine, generated but never run."""

from __future__ import annotations

import pytest

import compiler
from compiler.runtime.kernel_code import code_for
from compiler.targets.options import CodeOptions
from compiler.targets.target import TARGETS, by_name

MODEL = """
graph g(x: f32[5,24], w: f32[24,40]) {
  h: f32[5,40] = matmul(x, w)
  y: f32[5,40] = relu(h)
  return y
}
"""
NAMED = {"x86-64": "%xmm", "x86-64-v3": "%ymm", "x86-64-v4": "%zmm", "x86-64-amx": "%zmm",
         "aarch64": "fmla", "neoverse-v1": "fmla", "aarch64-sve256": "z0", "apple-m1": "fmla",
         "riscv64-v256": "vfmacc", "wasm32-simd128": "f32x4.mul"}  # fmt: skip


def test_every_target_is_tried() -> None:
    assert NAMED.keys() == TARGETS.keys()


@pytest.mark.parametrize("name", NAMED)
def test_a_fused_product_is_made_for_every_target(name: str) -> None:
    (kernel,) = compiler.compile(compiler.parse(MODEL), tuned=False).kernels
    assert kernel.computation is not None
    made = code_for(kernel.computation, kernel.constants, CodeOptions(by_name(name)))
    assert NAMED[name] in made.asm
    assert made.counts.n_instructions > 20
    assert made.n_bytes > made.counts.n_instructions
    assert made.counts.widest_bytes == by_name(name).vector_bytes
    assert len(made.llvm_lines) == len(made.llvm.split("\n"))
    assert len(made.asm_lines) in (0, len(made.asm.split("\n")))
    assert max(made.asm_lines, default=0) < len(made.llvm.split("\n"))


LONG_CONV = """
graph g(x: f32[1,512,1603]) {
  const w: f32[512,512,3] = seeded(1, 0.05)
  c: f32[1,512,801] = conv(x, w, strides=[2], pads=[0,0], dilations=[1])
  y: f32[1,512,801] = gelu(c)
  return y
}
"""


def test_a_wide_tile_with_a_long_epilogue_is_machine_code() -> None:
    program = compiler.compile(compiler.parse(LONG_CONV), target="x86-64-v4")
    assert [k.because for k in program.kernels if not k.native] == []
    assert len(str(program.emit("llvm"))) > 1_000_000, "the case no longer has a long kernel"
