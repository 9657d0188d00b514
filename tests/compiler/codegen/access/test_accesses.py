"""Tests of all memory access patterns of vector lanes, against the interpreter."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import compiler
from tests.kernel_runs import compare

KERNELS = {
    "lanes side by side": "for a in 0..3 { vector i in 0..16 { y[a, i] = x[a, i] } }",
    "fewer lanes than a vector": "for a in 0..3 { vector i in 0..7 { y[a, i] = x[a, i+1] } }",
    "lanes that end with the buffer": """
        for a in 0..20 { vector i in 0..7 { y[a, i+13] = x[a, i+13] } }""",
    "more lanes than a vector": "for a in 0..20 { vector i in 0..19 { y[a, i] = x[a, i] } }",
    "a wide vector loop": "vector i in 0..390 { y[i//20, i%20] = x[i//20, i%20] }",
    "a wide vector loop from the middle": """
        vector i in 5..395 { y[i//20, i%20] = x[i//20, i%20] }""",
    "every second element": "for a in 0..20 { vector i in 0..10 { y[a, i] = x[a, 2*i] } }",
    "every third element": "for a in 0..20 { vector i in 0..6 { y[a, i] = x[a, 3*i+2] } }",
    "backwards": "for a in 0..20 { vector i in 0..20 { y[a, i] = x[a, 19-i] } }",
    "columns": "for a in 0..20 { vector i in 0..20 { y[a, i] = x[i, a] } }",
    "stores to columns": "for a in 0..20 { vector i in 0..20 { y[i, a] = x[a, i] } }",
    "stores to every second element": "vector i in 0..10 { y[3, 2*i+1] = x[i, 7] }",
    "the same element twice": "for a in 0..20 { vector i in 0..20 { y[a, i] = x[a, i//2] } }",
    "a division that is no multiple": """
        for a in 0..5 { vector i in 0..16 { y[a, i] = x[a, (16*a+i)//7] } }""",
    "a remainder of a negative number": """
        for a in 0..5 { vector i in 0..16 { y[a, i] = x[a, (i-9*a)%13] } }""",
    "a flat copy": """
        for a in 0..25 { vector i in 0..16 {
        y[(16*a+i)//20, (16*a+i)%20] = x[(16*a+i)//20, (16*a+i)%20] } }""",
    "one element for all lanes": "for a in 0..20 { vector i in 0..20 { y[a, i] = x[19-a, a] } }",
    "smaller and larger": """
        for a in 0..20 { vector i in 0..20 { y[a, i] = x[min(i, 19-i), max(a, i)] } }""",
    "a product of loops": """
        for a in 0..4 { for b in 0..5 { vector i in 0..4 { y[a*b, i] = x[i*a, b] } } }""",
    "unrolled inside vector": "vector i in 0..20 { unroll a in 0..20 { y[a, i] = x[i, a] } }",
    "a read of what was stored": """
        for a in 0..20 { vector i in 0..20 { y[a, i] = x[a, i] } } for a in 1..20 {
        vector i in 0..20 { y[a, i] = add(y[a-1, i], y[a, i]) } }""",
    "a loop that may be empty": """
        for a in 0..20 { for b in a+3..min(20, 2*a) { y[a, b] = x[b, a] } }""",
    "padding on both sides": """
        for a in 0..20 { vector i in 0..20 {
        y[a, i] = inside([(a-2, 16), (i-3, 14)], x[a-2, i-3], f32(7.0)) } }""",
    "padding of rows only": """
        for a in 0..20 { vector i in 0..20 {
        y[a, i] = inside([(a-2, 16)], x[a-2, i], f32(7.0)) } }""",
    "padding around columns": """
        for a in 0..20 { vector i in 0..20 {
        y[a, i] = inside([(a-2, 16), (i-3, 14)], x[i-3, a-2], f32(7.0)) } }""",
    "padding of every second element": """
        for a in 0..20 { vector i in 0..12 {
        y[a, i] = inside([(2*i-3, 20)], x[a, 2*i-3], f32(7.0)) } }""",
    "padding of one element": """
        for a in 0..20 { vector i in 0..20 {
        y[a, i] = inside([(a-3, 17), (i, 5)], x[a-3, 0], f32(7.0)) } }""",
    "padding without lanes": """
        for a in 0..20 { y[a, 0] = inside([(a-2, 16)], x[a-2, 3], f32(7.0)) }""",
    "pieces put together": """
        for a in 0..20 { vector i in 0..20 {
        y[a, i] = inside([(i, 5)], x[a, i+15], x[a, i-5]) } }""",
    "a guard in a guard": """
        for a in 0..20 { vector i in 0..20 {
        y[a, i] = inside([(i-4, 9)], inside([(a-4, 9)], x[a-4, i-4], f32(1.0)),
        inside([(a-9, 3)], x[a-9, 0], f32(2.0)))
        } }""",
    "prefetches": "for a in 0..20 { prefetch x[a+100, 0] prefetch y[-5, 0] y[a, 0] = x[a, 0] }",
}
TYPES = ["f32", "f64", "f16", "bf16", "bool", "i8", "u16", "i32", "i64"]


@pytest.mark.parametrize("name", KERNELS)
def test_elements_lie_as(name: str):
    compare(f"kernel k(x: f32[20,20] input, y: f32[20,20] output) {{ {KERNELS[name]} }}", rtol=1e-6)


@pytest.mark.parametrize("dtype", TYPES)
def test_elements_of_every_type_move(dtype: str):
    body = """
      for a in 0..20 { vector i in 0..20 { y[a, i] = x[a, i] } }
      for a in 0..10 { vector i in 0..7 { y[a, i] = x[i, a] } }
      for a in 0..10 { vector i in 0..7 { y[a, i+8] = x[a, 2*i] } }
      for a in 0..10 { vector i in 0..5 { y[i, a] = inside([(i-2, 20)], x[a, i-2], x[0, 0]) } }
      y[19, 19] = x[0, 1]
    """
    compare(f"kernel k(x: {dtype}[20,20] input, y: {dtype}[20,20] output) {{ {body} }}")


numbers = st.integers(-3, 3)


@st.composite
def kernels(draw: st.DrawFn) -> str:
    """Return a kernel that copies by a random affine index, tested if it may leave the buffer."""
    lanes, outer = draw(st.integers(1, 37)), draw(st.integers(1, 4))
    ca, ci, c0 = draw(st.integers(-20, 20)), draw(numbers), draw(st.integers(-10, 60))
    e = f"{ca}*a+{ci}*i+{c0}"
    form = draw(
        st.sampled_from(["{e}", "({e})//{d}", "({e})%{d}", "min({e}, a+i)", "max({e}, 2*i)"])
    )
    e = form.format(e=e, d=draw(st.integers(2, 9)))
    unrolled = draw(st.booleans())
    return f"""
    kernel k(x: i32[64] input, y: i32[4,37] output) {{
      {"unroll" if unrolled else "for"} a in 0..{outer} {{ vector i in 0..{lanes} {{
        y[a, i] = inside([({e}, 64)], x[{e}], i32(-1))
      }} }}
    }}"""


@given(kernels())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_random_affine_indices_agree_with_the_interpreter(text: str):
    compare(text)


@pytest.mark.parametrize("name", ["x86-64", "x86-64-v3"])
def test_smaller_vectors_of_the_same_processor_family_do_the_same(name: str):
    from compiler.targets.target import by_name, host

    target = by_name(name)
    if not host().is_x86 or host().vector_bytes < target.vector_bytes:
        target = host()  # another processor family supports only queries about itself
    for body in list(KERNELS.values())[::3]:
        text = f"kernel k(x: f32[20,20] input, y: f32[20,20] output) {{ {body} }}"
        compare(text, rtol=1e-6, target=target)


@pytest.mark.parametrize("kind", ["for", "unroll"])
def test_a_line_that_is_asked_for_may_be_loaded_further_out(kind: str):
    compare(
        f"""
    kernel k(x: f32[5,13] input, w: f32[13,22] input, y: f32[5,3] output) {{
      register acc: f32[]
      for m in 0..5 {{ unroll n in 0..3 {{
        acc[] = f32(0.0)
        {kind} k in 0..13 {{ prefetch w[k+1, n] acc[] = add(acc[], mul(x[m, k], w[k, n])) }}
        y[m, n] = acc[]
      }} }}
    }}""",
        rtol=1e-5,
    )


def test_a_load_in_an_outer_scope_reads_no_pointer_of_an_inner_scope() -> None:
    """The window over both columns of B needs one pointer under a mask of each scope."""
    g = compiler.parse(
        """
        graph g(A: f32[2,1,129,2], B: f32[2,1,1,2]) {
          s: f32[2,1,129,2] = add(A, B)
          y: f32[2,1,129,2] = max_pool(s, kernel=[3,5], strides=[1,1], pads=[0,0,0,0],
              dilations=[1,1], ceil_mode=false, auto_pad="same_upper")
          return y
        }
        """
    )
    chance = np.random.default_rng(1)
    inputs = {
        "A": chance.standard_normal((2, 1, 129, 2), np.float32),
        "B": chance.standard_normal((2, 1, 1, 2), np.float32),
    }
    expected = compiler.reference(g, inputs)["y"]
    np.testing.assert_array_equal(compiler.compile(g).run(inputs)["y"], expected)
