"""Tests of statements with computed indices and conditions, against the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.compute.builder import Lowering
from compiler.compute.evaluate import evaluate
from compiler.compute.text import parse_computation
from compiler.ir.types import DType, TensorType
from compiler.loops.text import parse_kernel
from compiler.loops.verify import BadKernel, verify_kernel
from compiler.schedule.policy import schedule
from compiler.targets.options import CodeOptions
from tests.kernel_runs import compare, random_arrays


def test_rows_are_fetched_by_number_lane_by_lane_and_the_number_is_brought_inside():
    kernel = parse_kernel("""
        kernel k(x: f32[5,3] input, n: i32[37] input, y: f32[37] output) {
          vector i in 0..37 { y[i] = fetch(x, to_i64(n[i]), index_i64(i%3)) }
        }
    """)
    arrays = random_arrays(kernel)
    arrays["n"][:4] = [-7, 0, 4, 99]
    x, n = arrays["x"].copy(), arrays["n"].copy()
    arrays = compare(kernel, arrays)
    assert np.array_equal(arrays["y"], x[np.clip(n, 0, 4), np.arange(37) % 3])


@pytest.mark.parametrize("dtype", ["i8", "bool", "f16", "f64", "i64"])
def test_elements_of_every_width_are_fetched(dtype: str):
    compare(f"""
        kernel k(
          x: {dtype}[4,6] input, n: i64[21] input, y: {dtype}[21] output, z: {dtype}[1] output
        ) {{
          vector i in 0..21 {{ y[i] = fetch(x, n[i], i64(2)) }}
          z[0] = fetch(x, n[3], n[4])
        }}
    """)


def test_what_is_put_outside_is_dropped():
    kernel = parse_kernel("""
        kernel k(x: f32[6] input, n: i64[6] input, y: f32[4] output) {
          for i in 0..4 { y[i] = f32(0.0) }
          for i in 0..6 { scatter y(n[i]) = add(fetch(y, n[i]), x[i]) }
        }
    """)
    arrays = random_arrays(kernel)
    arrays["n"][:] = [3, -1, 3, 0, 4, 3]
    arrays = compare(kernel, arrays)
    x = arrays["x"]
    assert np.allclose(arrays["y"], [x[3], 0, 0, x[0] + x[2] + x[5]])


def test_a_counter_under_a_condition_is_read_after_it_was_changed():
    kernel = parse_kernel("""
        kernel k(x: i32[9] input, n: i64[] temporary, y: i64[9] output, z: i32[9] output) {
          n[] = i64(0)
          for i in 0..9 {
            z[i] = i32(-1)
            if lt(x[i], i32(0)) {
              scatter z(n[]) = x[i]
              n[] = add(n[], i64(1))
              n[] = add(n[], i64(0))
            }
            y[i] = n[]
          }
        }
    """)
    arrays = random_arrays(kernel, 3)
    arrays = compare(kernel, arrays)
    assert np.array_equal(arrays["y"], np.cumsum(arrays["x"] < 0))


def test_a_loop_as_long_as_a_condition_holds():
    kernel = parse_kernel("""
        kernel k(x: i64[5] input, n: i64[] temporary, y: i64[5] output) {
          for i in 0..5 {
            n[] = abs(x[i])
            y[i] = i64(0)
            while gt(n[], i64(0)) {
              for j in 0..2 { if eq(mod(n[], i64(2)), i64(1)) { y[i] = add(y[i], index_i64(j)) } }
              n[] = div(n[], i64(2))
            }
          }
        }
    """)
    arrays = random_arrays(kernel, 1)
    arrays = compare(kernel, arrays)
    assert arrays["y"].tolist() == [int(abs(v)).bit_count() for v in arrays["x"]]


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("scatter x(i64(0)) = f32(1.0)", "stores must not change it"),
        ("scatter y(i32(0)) = f32(1.0)", "is not an i64"),
        ("scatter y(i64(0), i64(1)) = f32(1.0)", "rank 1"),
        ("vector i in 0..4 { scatter y(index_i64(i)) = f32(1.0) }", "lanes"),
        ("if x[0] { y[0] = x[1] }", "is not a bool"),
        ("if gt(x[0], x[1]) { r[0] = x[1] }", "change under a condition"),
        ("vector i in 0..4 { if gt(x[0], x[1]) { y[i] = x[1] } }", "different branches"),
        ("y[0] = fetch(x, i32(1))", "is not an i64"),
        ("y[0] = fetch(r, i64(1))", "register"),
    ],
)
def test_rules_of_statements(body: str, fault: str):
    kernel = parse_kernel(f"""
        kernel k(x: f32[4] input, y: f32[4] output) {{
          register r: f32[2]
          {body}
        }}
    """)
    with pytest.raises(BadKernel, match=fault):
        verify_kernel(kernel)


def positives() -> Lowering:
    """Return a kernel that stores twice each positive element contiguously, and their number."""
    k = Lowering("positives")
    x = k.input("X", TensorType(DType.f32, (2, 7)))
    found = k.output("Y", TensorType(DType.f32, (14,)))
    count = k.output("N", TensorType(DType.i64, ()))
    twice = k.temporary(x.shape, DType.f32, "TWICE")
    i, j = k.axes(x.shape)
    k.assign(twice[i, j], x[i, j] + x[i, j])
    with k.routine() as r:
        r.store(count[()], 0)
        with r.loop(14, "p") as p:
            r.store(found[p], 0.0)
        with r.loops(x.shape, "rc") as (row, column):
            value = twice[row, column]
            with r.when(k.gt(value, 0.0)):
                r.store(found.at(count[()]), value)
                r.store(count[()], count[()] + 1)
    return k


def test_a_routine_in_a_computation_reads_back_is_evaluated_and_compiled():
    computation = positives().computation()
    assert parse_computation(str(computation)) == computation
    kernel = schedule(computation, frozenset(), CodeOptions()).kernel
    assert parse_kernel(str(kernel)) == kernel
    verify_kernel(kernel)
    arrays = random_arrays(kernel, 5)
    x = arrays["X"]
    arrays = compare(kernel, arrays)
    wanted = np.zeros(14, np.float32)
    above = 2 * x[x > 0]
    wanted[: len(above)] = above
    made = evaluate(computation, {"X": x})
    assert np.array_equal(made["Y"], wanted)
    assert np.array_equal(arrays["Y"], wanted)
    assert made["N"] == arrays["N"] == len(above)
