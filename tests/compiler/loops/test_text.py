import pytest

from compiler.compute.scalar import Apply, Inside, Number, Read
from compiler.errors import CompileError
from compiler.ir.types import DType
from compiler.loops.nodes import Buffer, Kernel, Loop, Prefetch, Store
from compiler.loops.text import parse_kernel

DENSE = """
kernel dense(x: f32[4,64] input, w: f32[2,64,16] constant, y: f32[4,2,16] output) {
  register acc: f32[4,16]
  parallel ob in 0..2 {
    unroll m in 0..4 { vector n in 0..16 { acc[m, n] = f32(0.0) } }
    for k in 0..64 {  // the reduction
      prefetch w[ob, k+8, 0]
      unroll m in 0..4 { vector n in 0..16 {
        acc[m, n] = add(acc[m, n], mul(x[m, k], w[ob, k, n]))
      } }
    }
    unroll m in 0..4 { vector n in 0..16 { y[m, ob, n] = acc[m, n] } }
  }
}
"""


def test_a_kernel_reads_into_its_nodes():
    k = parse_kernel(DENSE)
    assert k.name == "dense"
    assert k.params[1] == Buffer("w", DType.f32, (2, 64, 16), "constant")
    assert k.registers == (Buffer("acc", DType.f32, (4, 16), "register"),)
    (outer,) = k.body
    assert isinstance(outer, Loop)
    assert outer.kind == "parallel"
    middle = outer.body[1]
    assert isinstance(middle, Loop)
    assert isinstance(middle.body[0], Prefetch)


def test_printing_and_reading_gives_the_same_kernel():
    k = parse_kernel(DENSE)
    assert parse_kernel(str(k)) == k


def test_bounds_may_be_expressions():
    text = """kernel k(y: i64[9] output) {
      for i in 0..9 { for j in i//2..min(9, i+2) { y[j] = i64(1) } } }"""
    k = parse_kernel(text)
    assert parse_kernel(str(k)) == k


def test_a_kernel_without_indices_and_with_special_numbers_reads_back():
    read = Read("x", (), DType.f32)
    value = Apply("max", (read, Number(float("-inf"), DType.f32)), DType.f32)
    guarded = Inside((), value, Number(1e-5, DType.f32))
    x, y = Buffer("x", DType.f32, (), "input"), Buffer("y", DType.f32, (), "output")
    k = Kernel("k", (x, y), (Store("y", (), guarded),))
    assert parse_kernel(str(k)) == k


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("kernel k(x: f32[4] inputs) { }", "one of input"),
        ("kernel k(x: f32[N] input) { }", "only open dimensions"),
        ("kernel k(y: f32[4] output) { y[0] = z[0] }", "a declared tensor"),
        ("kernel k(y: f32[4] output) { z[0] = y[0] }", "a declared tensor"),
        ("kernel k(y: f32[4] output) { y[0] = add(y[0]) }", "operands that add takes"),
        ("kernel k(y: f32[4] output) { y[0] = frob(y[0]) }", "a function"),
        ("kernel k(y: f32[4] output) { for i in 0,4 { y[i] = f32(0.0) } }", "'..'"),
        ("kernel k(y: f32[4] output) { y[0] = f32(zero) }", "a number"),
        ("kernel k(y: f32[4] output) { y[0] = f32(0.0)", "a name"),
        ("kernel k() { } trailing", "the end"),
        ("kernel k(y: f32[4] output) { y[0] = " + "neg(" * 500, "deep"),
        ("kernel k(y: f32[4] output) { " + "for i in 0..2 {" * 300, "deep"),
    ],
)
def test_broken_text_says_what_was_needed_and_where(text: str, needed: str):
    with pytest.raises(CompileError) as e:
        parse_kernel(text)
    assert e.value.code == "E-TEXT-SYNTAX"
    assert needed in e.value.message
    assert e.value.where.line == 1
