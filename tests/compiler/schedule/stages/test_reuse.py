"""Tests of stages that overwrite the temporary they read: permitted and refused cases."""

from __future__ import annotations

import pytest

from compiler.compute.text import parse_computation
from compiler.schedule.language.replay import replay
from compiler.targets.options import CodeOptions
from compiler.targets.target import by_name
from tests.compiler.schedule.language.test_moves import assert_right

OPTIONS = CodeOptions(by_name("x86-64-v3"))

CASES = {
    "read at its own index alone": ("E[i, j] = exp(sub(S[i, j], T[i]))", "E[i, j]", False),
    "read at another index": ("E[i, j] = exp(sub(S[i, -1*j+6], T[i]))", "E[i, j]", True),
    "read at two": ("E[i, j] = add(S[i, j], S[i, -1*j+6])", "E[i, j]", True),
    "read by a later stage too": ("E[i, j] = exp(S[i, j])", "add(E[i, j], S[i, j])", True),
}
"""The expression of E, the expression of the result, and whether E needs separate memory."""


@pytest.mark.parametrize(("made", "used", "is_apart"), CASES.values(), ids=list(CASES))
@pytest.mark.parametrize(
    "moves", ["", "E: compute_at(Y, i)\nT: compute_at(Y, i)\nS: compute_at(Y, i)"]
)
def test_a_temporary_lies_where_its_last_reader_stores(
    made: str, used: str, is_apart: bool, moves: str
) -> None:
    c = parse_computation(
        f"""computation f(A: f32[5,7], B: f32[7]) -> Y: f32[5,7] {{
          temporary S: f32[5,7]
          temporary T: f32[5]
          temporary E: f32[5,7]
          S[i, j] = mul(A[i, j], B[j])  for i<5, j<7
          T[i] = reduce_larger([k], S[i, k])  for i<5, k<7
          {made}  for i<5, j<7
          Y[i, j] = add(T[i], {used})  for i<5, j<7
        }}"""
    )
    scheduled = replay(moves, c, frozenset(), OPTIONS)
    assert_right(c, scheduled)
    assert ("E" in scheduled.kernel.buffers) is is_apart


def test_memory_is_shared_where_both_need_as_much_of_it() -> None:
    c = parse_computation(
        """computation f(A: f32[5,7]) -> Y: f32[5,7] {
          temporary S: f32[5,7]
          temporary E: f32[5,7]
          S[i, j] = mul(A[i, j], A[i, j])  for i<5, j<7
          E[i, j] = exp(S[i, j])  for i<5, j<7
          Y[i, j] = add(E[i, j], E[-1*i+4, j])  for i<5, j<7
        }"""
    )
    scheduled = replay("S: compute_at(E, i)", c, frozenset(), OPTIONS)
    assert_right(c, scheduled)
    assert [scheduled.kernel.buffers[n].shape for n in "SE"] == [(1, 7), (5, 7)]


def test_a_loop_that_reads_other_places_later_keeps_them() -> None:
    c = parse_computation(
        """computation f(A: f32[5,7]) -> Y: f32[5,7], Z: f32[5,7] {
          temporary S: f32[5,7]
          temporary R: f32[5,7]
          temporary E: f32[5,7]
          S[i, j] = mul(A[i, j], A[i, j])  for i<5, j<7
          R[i, j] = add(S[-1*i+4, j], A[i, j])  for i<5, j<7
          E[i, j] = exp(S[i, j])  for i<5, j<7
          Y[i, j] = add(R[i, j], E[i, j])  for i<5, j<7
          Z[i, j] = mul(E[-1*i+4, j], A[i, j])  for i<5, j<7
        }"""
    )
    moves = "E: compute_at(Y, i)\nR: compute_at(Y, i)"
    assert_right(c, replay(moves, c, frozenset(), OPTIONS))
    assert "E" not in replay("", c, frozenset(), OPTIONS).kernel.buffers
