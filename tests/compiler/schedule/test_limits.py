"""Tests of the limit on the code size of a schedule."""

from __future__ import annotations

import pytest

from compiler.compute.text import parse_computation
from compiler.errors import CompileError
from compiler.loops.text import parse_kernel
from compiler.schedule.language.replay import replay
from compiler.schedule.limits import MOST_CODE, code_size
from compiler.targets.options import CodeOptions
from compiler.targets.target import by_name

TARGET = by_name("x86-64-v3")
WIDE = parse_computation("""
computation scale(A: f32[300,301]) -> Y: f32[300,301] {
  Y[i, j] = mul(A[i, j], f32(2.0))  for i<300, j<301
}
""")
DEEP = parse_computation("""
computation deep(A: f32[7,7,7,7,7,7,7,7,7,7,7,7]) -> Y: f32[7,7,7,7,7,7,7,7,7,7,7,7] {
  Y[a,b,c,d,e,f,g,h,i,j,k,l] = A[a,b,c,d,e,f,g,h,i,j,k,l]
    for a<7, b<7, c<7, d<7, e<7, f<7, g<7, h<7, i<7, j<7, k<7, l<7
}
""")


def test_unrolled_loops_count_as_often_as_they_run_and_vectors_as_registers() -> None:
    kernel = parse_kernel("""
    kernel k(x: f32[5,20] input, y: f32[5,20] output) {
      unroll i in 0..5 { vector j in 0..20 { y[i, j] = neg(x[i, j]) } }
    }
    """)
    assert code_size(kernel.body, TARGET) == 5 * 3 * (1 + 2)


def test_a_kernel_of_too_much_code_is_refused() -> None:
    text = "Y: unroll(i, j)"
    with pytest.raises(CompileError, match=f"E-LIMIT-CODE: .*limit is {MOST_CODE:,}"):
        replay(text, WIDE, frozenset(), CodeOptions(TARGET))


def test_ends_written_out_inside_each_other_are_refused() -> None:
    text = "\n".join(f"Y: split({v}, 3, {v}{v}, {v}x)" for v in "abcdefghijkl")
    with pytest.raises(CompileError, match="E-LIMIT-CODE"):
        replay(text, DEEP, frozenset(), CodeOptions(TARGET))
