"""Tests of the choice of parallel loops: profitable and proven independent."""

from __future__ import annotations

import pytest

from compiler.compute.statements import Loop, walk_statements
from compiler.compute.text import parse_computation
from compiler.loops.nodes import Kernel
from compiler.loops.text import parse_kernel
from compiler.loops.verify import verify_kernel
from compiler.schedule.language.replay import replay
from compiler.schedule.threads.parallel import in_parallel
from compiler.targets.options import CodeOptions
from compiler.targets.target import by_name

TARGET = by_name("x86-64-v3")


def shared(text: str, threads: int = 2) -> list[str]:
    """Return the counters of the loops that threads share."""
    return counters(in_parallel(parse_kernel(text), CodeOptions(TARGET, threads)))


def counters(kernel: Kernel) -> list[str]:
    """Return the counters of the parallel loops."""
    verify_kernel(kernel)
    return [
        s.var for s in walk_statements(kernel.body) if isinstance(s, Loop) and s.kind == "parallel"
    ]


def rows(n: int, columns: int, value: str = "add(x[i, j], f32(1.0))") -> str:
    return (
        f"kernel k(x: f32[{n},{columns}] input, y: f32[{n},{columns}] output) {{"
        f" for i in 0..{n} {{ for o in 0..{columns // 8} {{ vector l in 0..8 {{"
        f" y[i, l+8*o] = {value.replace('j', 'l+8*o')} }} }} }} }}"
    )


def test_small_kernels_stay_with_one_thread():
    assert shared(rows(8, 64)) == []
    assert shared(rows(64, 4096)) == ["i"]


def test_one_thread_shares_nothing():
    assert shared(rows(64, 4096), threads=1) == []


def test_few_turns_are_shared_together_with_the_loop_inside():
    assert shared(rows(3, 65536)) == ["i", "o"]
    assert shared(rows(4, 65536)) == ["i"]
    assert shared(rows(4, 65536), threads=3) == ["i", "o"]


def test_turns_that_depend_on_each_other_are_not_shared_but_what_is_inside_is():
    text = (
        "kernel k(x: f32[9,65536] input, y: f32[65536] output) {"
        " for i in 0..9 { for o in 0..8192 { vector l in 0..8 {"
        " y[l+8*o] = add(mul(y[l+8*o], f32(0.5)), x[i, l+8*o]) } } } }"
    )
    assert shared(text) == ["o"]


def test_a_long_sum_is_never_cut():
    text = (
        "kernel k(x: f32[1048576] input, y: f32[1] output) { register r: f32[8]"
        " vector l in 0..8 { r[l] = f32(0.0) }"
        " for o in 0..131072 { vector l in 0..8 { r[l] = add(r[l], x[l+8*o]) } }"
        " y[0] = add(add(r[0], r[1]), add(r[2], r[3])) }"
    )
    assert shared(text) == []


def test_scratch_that_goes_from_turn_to_turn_keeps_the_loop_with_one_thread():
    text = (
        "kernel k(x: f32[64,32768] input, t: f32[32768] temporary, y: f32[64,32768] output) {"
        " for o in 0..4096 { vector l in 0..8 { t[l+8*o] = x[0, l+8*o] } }"
        " for i in 0..64 {"
        " for o in 0..4096 { vector l in 0..8 { t[l+8*o] = exp(mul(t[l+8*o], x[i, l+8*o])) } }"
        " for p in 0..4096 { vector l in 0..8 { y[i, l+8*p] = t[32767-l-8*p] } } } }"
    )
    assert "i" not in shared(text)
    assert "team" not in shared(text)


@pytest.mark.parametrize(
    ("n", "expected"), [(64, ["y"]), (8, ["o"])], ids=["few weights", "many weights"]
)
def test_images_are_cut_into_rows_unless_all_threads_would_read_too_many_weights(
    n: int, expected: list[str]
):
    text = (
        f"kernel k(x: f32[1,512,{n},4] input, w: f32[16,512,8] constant,"
        f" y: f32[1,16,{n},4,8] output) {{ register r: f32[8]"
        f" for o in 0..16 {{ for y in 0..{n} {{ for c in 0..4 {{"
        " vector l in 0..8 { r[l] = f32(0.0) }"
        " for k in 0..512 { vector l in 0..8 {"
        " r[l] = add(r[l], mul(x[0, k, y, c], w[o, k, l])) } }"
        " vector l in 0..8 { y[0, o, y, c, l] = r[l] } } } } }"
    )
    assert shared(text) == expected


def test_the_loops_marked_before_do_not_matter():
    marked = parse_kernel(rows(64, 4096).replace("for o", "parallel o"))
    options = CodeOptions(TARGET, 2)
    assert in_parallel(marked, options) == in_parallel(parse_kernel(rows(64, 4096)), options)


def test_the_loops_that_a_schedule_marks_stay_as_they_are():
    copy = parse_computation(
        "computation g(x: f32[64,4096]) -> y: f32[64,4096] {\n"
        "  y[o, i] = exp(x[o, i])  for o<64, i<4096\n}"
    )
    marked = replay("y: parallel(i)", copy, frozenset(), CodeOptions(TARGET, 2))
    assert counters(marked.kernel) == ["i"]
    chosen = replay("", copy, frozenset(), CodeOptions(TARGET, 2))
    assert counters(chosen.kernel) == ["o"]
