"""Tests of transposing lines in registers, against the interpreter."""

import pytest

from compiler.codegen.module import module_ir
from compiler.loops.text import parse_kernel
from compiler.targets.target import Target, by_name, host
from tests.kernel_runs import compare

TYPES = ["f32", "f64", "f16", "bf16", "bool", "i8", "u16", "i32", "i64"]
SIZES = [(4, 4), (8, 8), (16, 16), (5, 16), (16, 12), (7, 13), (4, 35), (12, 4)]


def targets() -> list[Target]:
    """This machine, and targets with smaller vectors that it can run."""
    small = by_name("x86-64-v3")
    return (
        [host(), small] if host().is_x86 and host().vector_bytes > small.vector_bytes else [host()]
    )


def is_turned(text: str) -> bool:
    """Return whether machine code shuffles lanes of two vectors into one."""
    return "shufflevector" in module_ir({"k": parse_kernel(text)}, [], host())


@pytest.mark.parametrize(("lines", "lanes"), SIZES)
@pytest.mark.parametrize("kind", ["for", "unroll"])
def test_squares_of_all_sizes(lines: int, lanes: int, kind: str):
    text = f"""
    kernel k(x: f32[43,37] input, y: f32[3,20,37] output) {{
      for a in 0..3 {{ {kind} i in 0..{lines} {{ vector l in 0..{lanes} {{
        y[a, i, l] = x[l+a, i+5*a]
      }} }} }}
    }}"""
    for target in targets():
        compare(text, target=target)


@pytest.mark.parametrize("dtype", TYPES)
def test_elements_of_every_type(dtype: str):
    compare(f"""
    kernel k(x: {dtype}[19,23] input, y: {dtype}[23,19] output) {{
      for a in 0..2 {{ for i in 0..8 {{ vector l in 0..8 {{ y[i+8*a, l] = x[l, i+8*a] }} }} }}
      for i in 0..7 {{ vector l in 0..11 {{ y[i+16, l+8] = x[l+8, i+16] }} }}
    }}""")


def test_operands_that_lie_in_both_ways():
    text = """
    kernel k(a: f32[16,32] input, b: f32[32,16] input, c: f32[32] input, y: f32[32,16] output) {
      for o in 0..2 { for i in 0..16 { vector l in 0..16 {
        y[i+16*o, l] = add(mul(a[l, i+16*o], b[i+16*o, l]), sub(a[15-l, i+16*o], c[i+16*o]))
      } } }
    }"""
    compare(text, rtol=1e-6)


def test_the_last_square_ends_with_its_buffer():
    compare("""
    kernel k(x: f32[13,9] input, y: f32[9,13] output) {
      for i in 0..9 { vector l in 0..13 { y[i, l] = x[l, i] } }
    }""")


def test_what_reads_its_own_target_is_done_line_by_line():
    compare("""
    kernel k(y: f32[16,16] output) {
      for i in 0..16 { vector l in 0..16 { y[i, l] = y[l, i] } }
    }""")


def test_reads_that_need_not_happen_are_not_turned():
    compare("""
    kernel k(x: f32[12,12] input, y: f32[16,16] output) {
      for i in 0..16 { vector l in 0..16 {
        y[i, l] = inside([(i-2, 12), (l-2, 12)], x[l-2, i-2], f32(7.0))
      } }
    }""")


def test_lanes_are_shuffled_where_lines_lie_along_the_loop():
    body = "for i in 0..8 { vector l in 0..8 { y[i, l] = x[l, i] } }"
    straight = body.replace("x[l, i]", "x[i, l]")
    for text, wanted in ((body, True), (straight, False)):
        assert is_turned(f"kernel k(x: f32[8,8] input, y: f32[8,8] output) {{ {text} }}") is wanted
