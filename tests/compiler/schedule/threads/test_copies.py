"""Tests of private copies of temporaries for threads, against the original kernel."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.loops.interpret import interpret
from compiler.loops.nodes import Kernel
from compiler.loops.text import parse_kernel
from compiler.loops.verify import verify_kernel
from compiler.schedule.threads.parallel import in_parallel
from compiler.targets.options import CodeOptions
from compiler.targets.target import host
from tests.kernel_runs import random_arrays, run_native

TWO_STAGES = """
  for i in 0..13 {
    for o in 0..512 { vector l in 0..8 { t[l+8*o] = mul(x[i, l+8*o], f32(1.5)) } }
    for p in 0..512 { vector l in 0..8 { y[i, l+8*p] = add(t[4095-l-8*p], x[i, 0]) } }
  }"""

SUMS_IN_MEMORY = """
  for i in 0..13 { for o in 0..512 {
    vector l in 0..8 { t[l] = f32(0.0) }
    for k in 0..3 { vector l in 0..8 { t[l] = add(t[l], x[i, l+8*(o+k)%4096]) } }
    vector l in 0..8 { y[i, l+8*o] = t[l] }
  } }"""

PIECES = """
  for band in 0..4 {
    for row in 3*band..min(3*band+3, 12) {
      for o in 0..512 { vector l in 0..8 { t[l+8*o] = mul(x[row, l+8*o], f32(1.5)) } }
      for p in 0..512 { vector l in 0..8 { y[row, l+8*p] = t[4095-l-8*p] } }
    }
    for last in 0..(band+1)//4 {
      for o in 0..512 { vector l in 0..8 { y[12, l+8*o] = neg(x[12, l+8*o]) } }
    }
  }"""

ONE_TURN_FOR_THE_NEXT = """
  for i in 0..13 {
    for o in 0..511 { vector l in 0..8 { t[l+8*o] = mul(x[i, l+8*o], f32(1.5)) } }
    for p in 0..512 { vector l in 0..8 { y[i, l+8*p] = t[l+8*p] } }
    for o in 511..512 { vector l in 0..8 { t[l+8*o] = x[i, l+8*o] } }
  }"""

READ_LATER = TWO_STAGES + "for p in 0..512 { vector l in 0..8 { y[12, l+8*p] = t[l+8*p] } }"


def kernel(body: str) -> Kernel:
    return parse_kernel(
        "kernel k(x: f32[13,4096] input, t: f32[4096] temporary, y: f32[13,4096] output) {"
        f"{body} }}"
    )


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("body", [TWO_STAGES, PIECES], ids=["stages", "pieces"])
def test_each_thread_has_a_copy_and_computes_what_one_does(body: str, threads: int):
    before = kernel(body)
    after = in_parallel(before, CodeOptions(host(), threads))
    verify_kernel(after)
    assert after.buffers["t"].shape == (threads, 4096)
    given = random_arrays(before)
    found = {**random_arrays(after, seed=1), "x": given["x"]}
    again = {name: a.copy() for name, a in found.items()}
    interpret(before, given)
    interpret(after, again)
    run_native(after, found, threads=threads)
    np.testing.assert_array_equal(again["y"], given["y"])
    np.testing.assert_array_equal(found["y"], given["y"])


@pytest.mark.parametrize("body", [ONE_TURN_FOR_THE_NEXT, READ_LATER], ids=["next", "later"])
def test_what_is_read_of_another_turn_is_not_copied(body: str):
    after = in_parallel(kernel(body), CodeOptions(host(), 2))
    assert after.buffers["t"].shape == (4096,)


def test_a_sum_begun_in_its_turn_is_private():
    after = in_parallel(kernel(SUMS_IN_MEMORY.replace("(o+k)%4096", "o")), CodeOptions(host(), 2))
    assert after.buffers["t"].shape == (2, 4096)


def test_threads_do_not_share_lines_of_short_rows():
    text = (
        "kernel k(x: f32[13,4096] input, t: f32[1] temporary, y: f32[13,4096] output) {"
        " for i in 0..13 { t[0] = mul(x[i, 0], f32(1.5))"
        " for o in 0..512 { vector l in 0..8 { y[i, l+8*o] = add(x[i, l+8*o], t[0]) } } } }"
    )
    assert in_parallel(parse_kernel(text), CodeOptions(host(), 3)).buffers["t"].shape == (3, 32)
