"""Tests of copies in lockstep: loops that may be interleaved, and preserved dependences."""

from __future__ import annotations

import numpy as np

from compiler.codegen.lockstep import in_lockstep, may_mix
from compiler.loops.nodes import Loop
from compiler.loops.text import parse_kernel
from tests.kernel_runs import run_native


def unrolled(body: str) -> Loop:
    kernel = parse_kernel(
        f"kernel k(x: f32[4,8] input, y: f32[4,8] output) {{ unroll u in 0..4 {{ {body} }} }}"
    )
    (loop,) = kernel.body
    assert isinstance(loop, Loop)
    return loop


def vector(statement: str) -> str:
    return f"vector l in 0..8 {{ {statement} }}"


def test_turns_that_share_nothing_may_be_mixed() -> None:
    assert may_mix(unrolled(vector("y[u, l] = add(exp(x[u, l]), x[0, l])")), {}, {"exp"})


def test_only_loops_with_long_functions_are() -> None:
    assert not may_mix(unrolled(vector("y[u, l] = add(x[u, l], x[0, l])")), {}, {"exp"})


def test_a_turn_that_reads_what_another_stored_comes_after_it() -> None:
    loop = unrolled(vector("y[u, l] = exp(y[u - 1, l])"))
    assert not may_mix(loop, {}, {"exp"})
    assert may_mix(unrolled(vector("y[u, l] = exp(y[u, l])")), {}, {"exp"})


def test_what_is_kept_in_registers_is_not() -> None:
    assert not may_mix(unrolled(vector("y[u, l] = exp(x[u, l])")), {"y"}, {"exp"})


def test_lines_take_turns_and_wait_for_what_they_read() -> None:
    copies = [
        ["  %a = load", "  %b = f %a", "  store %b"],
        ["  %c = f %b", "  store %c", "  store %a"],
        ["  %d = load", "  store %d"],
    ]
    assert in_lockstep(copies) == [
        "  %a = load", "  %d = load", "  %b = f %a", "  %c = f %b", "  store %d", "  store %b",
        "  store %c", "  store %a",
    ]  # fmt: skip


def test_no_more_than_four_copies_are_mixed() -> None:
    copies = [[f"  %a{i} = load", f"  store %a{i}"] for i in range(6)]
    made = in_lockstep(copies)
    assert made[:4] == [c[0] for c in copies[:4]]
    assert made[8:] == [copies[4][0], copies[5][0], copies[4][1], copies[5][1]]


def test_lines_around_branches_stay_where_they_are() -> None:
    copies = [["  br label %x", "x:", "  %a = load"], ["  %b = load"]]
    assert in_lockstep(copies) == ["  br label %x", "x:", "  %a = load", "  %b = load"]


def test_a_chain_is_what_its_operators_are_one_by_one() -> None:
    text = """
    kernel k(x: f32[3,64] input, y: f32[3,64] output, z: f32[3,64] output) {
      for i in 0..3 { unroll u in 0..4 { vector l in 0..16 {
        y[i, l+16*u] = exp(x[i, l+16*u])
        z[i, l+16*u] = mul(tanh(y[i, l+16*u]), x[i, l+16*u])
      } } }
    }"""
    x = np.random.default_rng(0).standard_normal((3, 64)).astype(np.float32)
    arrays = {"x": x, "y": np.zeros_like(x), "z": np.zeros_like(x)}
    run_native(parse_kernel(text), arrays)
    np.testing.assert_allclose(arrays["y"], np.exp(x), rtol=3e-7)
    np.testing.assert_allclose(arrays["z"], np.tanh(np.exp(x)) * x, rtol=1e-6)
