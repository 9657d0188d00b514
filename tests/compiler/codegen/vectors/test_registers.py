"""Tests of registers, loops that carry them, and the two kernels that dominate performance."""

import numpy as np
import pytest

from benchmarks.kernels import conv_text, matmul_text
from compiler.codegen.llvm import function_text
from compiler.codegen.values import vector_of
from compiler.loops.text import parse_kernel
from compiler.targets.target import by_name, host
from tests.kernel_runs import compare, random_arrays, run_native

LANES = host().lanes(4)


@pytest.mark.parametrize(("rows", "vectors"), [(14, 2), (6, 4), (3, 1)])
def test_a_tiled_matrix_product_is_right(rows: int, vectors: int):
    columns = vectors * LANES
    kernel = parse_kernel(matmul_text(2 * rows, 2 * columns, 32, rows, columns, 4))
    arrays = random_arrays(kernel)
    run_native(kernel, arrays)
    w = np.concatenate(list(arrays["w"]), axis=1).astype(np.float64)
    np.testing.assert_allclose(arrays["y"], arrays["x"] @ w, rtol=1e-4, atol=1e-4)


def test_a_tiled_convolution_is_right():
    kernel = parse_kernel(conv_text(2 * LANES, 4 * LANES, 14, LANES, 4, 7))
    arrays = random_arrays(kernel)
    run_native(kernel, arrays)
    x, w = arrays["x"].astype(np.float64), arrays["w"].astype(np.float64)
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(1, 2))
    expected = np.maximum(np.einsum("bhwikl,gbklio->gohw", windows, w), 0)
    groups = expected.reshape(-1, LANES, 14, 14).transpose(0, 2, 3, 1)
    np.testing.assert_allclose(arrays["y"], groups, rtol=1e-4, atol=1e-3)


def test_a_register_tile_never_touches_memory_inside_its_loop():
    """28 accumulators stay in vector registers: the text allocates no memory for them."""
    target = by_name("x86-64-v4")
    text = function_text(parse_kernel(matmul_text(28, 64, 32, 14, 32, 4)), "k", target).text
    assert "alloca" not in text
    assert text.count(f"phi {vector_of('float', 16)}") == 28
    assert text.count("call <16 x float> @llvm.fma") == 28 * 4
    assert text.count("store <16 x float>") == 28


TARGETS_BY_MASKS = ("x86-64-v4", "x86-64-v3")


def test_ends_take_whole_vectors_where_there_are_masks():
    text = """
    kernel k(x: f32[9,40] input, y: f32[40] output) { register a: f32[2,16] register b: f32[8]
      unroll v in 0..2 { vector l in 0..16 { a[v, l] = f32(0.0) } }
      vector l in 0..8 { b[l] = f32(0.0) }
      for r in 0..9 {
        unroll v in 0..2 { vector l in 0..16 { a[v, l] = add(a[v, l], x[r, l+16*v]) } }
        vector l in 0..8 { b[l] = add(b[l], x[r, l+32]) }
      }
      unroll v in 0..2 { vector l in 0..16 { y[l+16*v] = a[v, l] } }
      vector l in 0..8 { y[l+32] = b[l] }
    }"""
    compare(text)
    made = {t: function_text(parse_kernel(text), "k", by_name(t)).text for t in TARGETS_BY_MASKS}
    assert ["<8 x float>" in made[t] for t in TARGETS_BY_MASKS] == [False, True]


REGISTERS = {
    "one number": """register s: f32[] s[] = f32(0.0)
        for i in 0..20 { s[] = add(s[], x[i, 3]) } y[0, 0] = s[]""",
    "lanes summed one by one": """register a: f32[16] register t: f32[1]
        for r in 0..20 { vector l in 0..16 { a[l] = x[r, l] } t[0] = f32(0.0)
        unroll l in 0..16 { t[0] = max(t[0], a[l]) } y[r, 0] = t[0] }""",
    "lanes summed by halves": """register a: f32[16]
        for r in 0..20 { vector l in 0..16 { a[l] = x[r, l] }
        vector l in 0..8 { a[l] = add(a[l], a[l+8]) } vector l in 0..4 { a[l] = add(a[l], a[l+4]) }
        vector l in 0..2 { a[l] = add(a[l], a[l+2]) } y[r, 0] = add(a[0], a[1]) }""",
    "lanes summed as a tree": """register a: f32[2,16] register t: f32[]
        for r in 0..20 { unroll m in 0..2 { vector l in 0..16 { a[m, l] = mul(x[r, l], x[m, l]) } }
        t[] = add(add(add(add(a[0, 0], a[1, 0]), add(a[0, 4], a[1, 4])),
                      add(add(a[0, 2], a[1, 2]), add(a[0, 6], a[1, 6]))),
                  add(add(add(a[0, 1], a[1, 1]), add(a[0, 5], a[1, 5])),
                      add(add(a[0, 3], a[1, 3]), add(a[0, 7], a[1, 7]))))
        y[r, 0] = t[]
        y[r, 1] = max(max(a[0, 3], a[0, 9]), max(a[0, 6], a[0, 12]))
        y[r, 2] = max(max(a[0, 3], a[0, 9]), max(a[0, 6], a[0, 11]))
        y[r, 3] = sub(max(a[0, 3], a[1, 3]), max(a[0, 2], a[1, 2]))
        y[r, 4] = add(max(a[0, 3], a[1, 3]), min(a[0, 4], a[1, 4])) }""",
    "rows that are no power of two": """register a: f32[2,7]
        unroll m in 0..2 { vector l in 0..7 { a[m, l] = f32(1.0) } }
        for r in 0..10 { unroll m in 0..2 { vector l in 0..7 {
          a[m, l] = add(mul(a[m, l], f32(0.5)), x[2*r+m, l]) } } }
        unroll m in 0..2 { vector l in 0..7 { y[m, l] = a[m, l] } }""",
    "short rows beside whole vectors": """register a: f32[2,16] register b: f32[2,8]
        register c: f32[2,3]
        unroll m in 0..2 { vector l in 0..16 { a[m, l] = f32(0.0) }
          vector l in 0..8 { b[m, l] = f32(1.0) } vector l in 0..3 { c[m, l] = f32(2.0) } }
        for r in 0..10 { unroll m in 0..2 {
          vector l in 0..16 { a[m, l] = add(a[m, l], x[2*r+m, l]) }
          vector l in 0..8 { b[m, l] = add(b[m, l], mul(x[2*r+m, 0], x[r, l+12])) }
          vector l in 0..3 { c[m, l] = max(c[m, l], x[2*r+m, l+17]) } } }
        unroll m in 0..2 { vector l in 0..16 { y[m, l] = a[m, l] }
          vector l in 0..8 { y[m+2, l+12] = b[m, l] } vector l in 0..3 { y[m+4, l] = c[m, l] }
          y[m+6, 0] = add(b[m, 7], c[m, 2]) }""",
    "rows of several vectors and a rest": """register a: f32[20]
        vector l in 0..20 { a[l] = x[0, l] }
        for r in 1..20 { vector l in 0..20 { a[l] = max(a[l], x[r, l]) } }
        vector l in 0..20 { y[0, l] = a[l] } y[1, 0] = a[17]""",
    "lanes and elements of one register": """register a: f32[16]
        vector l in 0..16 { a[l] = x[0, l] } a[5] = f32(9.0)
        for i in 0..3 { a[6] = add(a[6], a[5]) } vector l in 0..16 { y[0, l] = a[l] }""",
    "a part in the middle": """register a: f32[16]
        vector l in 0..16 { a[l] = x[0, l] } vector l in 0..5 { a[l+6] = x[1, l] }
        vector l in 0..5 { y[0, l] = a[l+9] } vector l in 0..16 { y[1, l] = a[l] }""",
    "values that change places": """register a: f32[2]
        a[0] = x[0, 0] a[1] = x[0, 1] 
        for i in 0..5 { y[i, 0] = a[0] a[0] = a[1] a[1] = add(y[i, 0], a[0]) }
        y[7, 0] = a[0] y[7, 1] = a[1]""",
    "loops inside loops": """register a: f32[16]
        for h in 0..4 { vector l in 0..16 { a[l] = f32(0.0) }
          for i in 0..3 { for j in 0..h { vector l in 0..16 { a[l] = add(a[l], x[i+j, l]) } } }
          vector l in 0..16 { y[h, l] = a[l] } }""",
    "a loop that may be empty": """register a: f32[4]
        for h in 0..4 { unroll m in 0..4 { a[m] = f32(1.0) }
          for j in 2..h { a[1] = add(a[1], x[h, j]) } unroll m in 0..4 { y[h, m] = a[m] } }""",
    "bools and integers": """register b: bool[16] register n: i32[16]
        vector l in 0..16 { b[l] = bool(False) n[l] = i32(0) }
        for r in 0..20 { vector l in 0..16 { b[l] = or(b[l], gt(x[r, l], f32(5.0)))
          n[l] = add(n[l], to_i32(lt(x[r, l], f32(0.0)))) } }
        vector l in 0..16 { y[0, l] = to_f32(b[l]) y[1, l] = to_f32(n[l]) }""",
}


def test_a_tree_over_lanes_is_computed_on_vectors():
    text = function_text(
        parse_kernel("""kernel k(x: f32[8] input, y: f32[1] output) { register a: f32[8]
          vector l in 0..8 { a[l] = x[l] }
          y[0] = add(add(add(a[0], a[4]), add(a[2], a[6])), add(add(a[1], a[5]), add(a[3], a[7])))
        }"""),
        "k",
        by_name("x86-64-v3"),
    ).text
    assert text.count("fadd") == 3
    assert "fadd <4 x float>" in text


@pytest.mark.parametrize("name", REGISTERS)
def test_registers_hold(name: str):
    text = f"kernel k(x: f32[20,20] input, y: f32[20,20] output) {{ {REGISTERS[name]} }}"
    compare(text, rtol=1e-6)
