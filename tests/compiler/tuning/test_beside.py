"""Tests of comparing an edited schedule with the schedule of a kernel."""

from __future__ import annotations

import numpy as np

from compiler.compute.text import parse_computation
from compiler.schedule.language.replay import replay
from compiler.targets.options import CodeOptions
from compiler.tuning.beside import LEAST_ROUNDS, Turns, compared, in_turns
from compiler.tuning.judge import Judge, Runnable

PRODUCT = parse_computation(
    """computation product(A: f32[6,32], B: f32[32,48]) -> Y: f32[6,48] {
  Y[m, n] = reduce_add([k], mul(A[m, k], B[k, n]))  for m<6, n<48, k<32
}"""
)
LANES = "Y: split(n, 16, no, nl)\nY: reorder(m, no, k, nl)\nY: vectorize(nl)\nY: pack(B)"


def test_results_are_the_same_and_both_are_timed_in_turns() -> None:
    options, constants = CodeOptions(), frozenset({"B"})
    own = replay(LANES, PRODUCT, constants, options)
    judge = Judge(PRODUCT, constants, options, own)
    edited = Runnable(replay("", PRODUCT, constants, options), judge)
    (y,) = compared(judge, edited)
    assert (y.name, y.agrees) == ("Y", True)
    assert y.max_abs_error < 1e-4 < y.scale
    told: list[tuple[int, float]] = []
    turns = in_turns(judge, edited, 0.01, lambda done, share: told.append((done, share)))
    assert len(turns.original) == len(turns.edited) == len(told) >= LEAST_ROUNDS
    assert [done for done, _ in told] == list(range(1, len(told) + 1))
    assert all(0 < share <= 1 for _, share in told)


def test_numbers_that_differ_are_seen() -> None:
    options = CodeOptions()
    judge = Judge(PRODUCT, frozenset(), options)
    judge.expected = {"Y": judge.expected["Y"] + np.float32(0.5)}
    (y,) = compared(judge, Runnable(replay("", PRODUCT, frozenset(), options), judge))
    assert not y.agrees
    assert 0.49 < y.max_abs_error < 0.51


def test_the_ratio_is_of_the_rounds_and_lies_in_its_interval() -> None:
    ratio, low, high = Turns((1.0, 2.0, 4.0), (0.5, 1.0, 3.0)).ratio
    assert (ratio, low, high) == (0.5, 0.5, 0.75)
