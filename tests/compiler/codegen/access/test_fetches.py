"""Tests of reads at computed indices: contiguous lanes are one load, others are gathered."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.codegen.llvm import function_text
from compiler.loops.text import parse_kernel
from compiler.targets.target import host
from tests.kernel_runs import compare, random_arrays


@pytest.mark.parametrize(
    ("x", "place", "is_gathered"),
    [
        ("f32[6,40]", "n[r], index_i64(i)", False),
        ("f16[6,40]", "n[r], index_i64(i)", False),
        ("f64[6,40]", "n[r], index_i64(i+3)", False),
        ("f32[40,6]", "index_i64(i), n[r]", True),
        ("f32[6,20]", "n[r], index_i64(i//2)", True),
        ("f32[6,36]", "n[r], index_i64(i)", True),  # the last lanes are clamped
        ("f32[6,2,40]", "n[r], i64(1), index_i64(i)", False),
        ("f32[40,5,40]", "index_i64(i), n[r], index_i64(i)", True),
    ],
)
def test_rows_are_copied_whole(x: str, place: str, is_gathered: bool) -> None:
    dtype = x.partition("[")[0]
    kernel = parse_kernel(f"""
        kernel k(x: {x} input, n: i64[9] input, y: {dtype}[9,37] output) {{
          for r in 0..9 {{ vector i in 0..37 {{ y[r, i] = fetch(x, {place}) }} }}
        }}
    """)
    arrays = random_arrays(kernel)
    arrays["n"][:] = [0, 5, 2, -3, 99, 1, 4, 3, 0]
    compare(kernel, arrays)
    text = function_text(kernel, "k", host()).text
    assert ("gather" in text or "extractelement" in text) == is_gathered


def test_the_index_of_a_row_is_brought_inside_once() -> None:
    kernel = parse_kernel("""
        kernel k(x: f32[5,64] input, n: i32[3] input, y: f32[3,64] output) {
          for r in 0..3 { vector i in 0..64 { y[r, i] = fetch(x, to_i64(n[r]), index_i64(i)) } }
        }
    """)
    arrays = random_arrays(kernel)
    arrays["n"][:] = [7, -1, 3]
    found = compare(kernel, arrays)
    assert np.array_equal(found["y"], arrays["x"][[4, 0, 3]])
    assert function_text(kernel, "k", host()).text.count("call i64 @llvm.smax") == 1
