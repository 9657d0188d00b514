"""Tests of stepping through a schedule move by move."""

from __future__ import annotations

from compiler.compute.text import parse_computation
from compiler.schedule.language.replay import replay
from compiler.schedule.language.steps import loops_after, steps
from compiler.schedule.language.text import parse_schedule
from compiler.schedule.policy import schedule
from compiler.targets.options import CodeOptions
from compiler.targets.target import by_name

OPTIONS = CodeOptions(by_name("x86-64-v3"))
DENSE = parse_computation("""
computation dense(A: f32[6,7], B: f32[7,20]) -> Y: f32[6,20] {
  temporary T: f32[6,20]
  T[m, n] = reduce_add([k], mul(A[m, k], B[k, n]))  for m<6, n<20, k<7
  Y[m, n] = exp(T[m, n])  for m<6, n<20
}
""")
LINES = parse_schedule("""
Y: fuse(m, n, mn)
T: reorder(m, k, n) because "rows stay"
T: unroll(n)
""")


def test_each_nest_is_shown_as_it_is_and_after_each_of_its_lines() -> None:
    found = steps(LINES, DENSE, frozenset("B"), OPTIONS)
    made = [(s.nest, str(s.line.call) if s.line else "") for s in found]
    assert made == [
        ("T", ""),
        ("T", 'reorder(m, k, n) because "rows stay"'),
        ("T", "unroll(n)"),
        ("Y", ""),
        ("Y", "fuse(m, n, mn)"),
    ]
    assert found[1].because == "rows stay"
    move = found[2].move
    assert move is not None
    assert move.name == "unroll"
    assert found[2].outline.split("\n")[2:4] == [
        "    unroll n in 0..20 {",
        "      T[m, n] = reduce_add([k], mul(A[m, k], B[k, n]))",
    ]


def test_loops_are_there_wherever_a_schedule_may_end() -> None:
    whole = loops_after(LINES, DENSE, frozenset("B"), OPTIONS)
    text = "".join(f"{line}\n" for line in LINES)
    assert whole == str(replay(text, DENSE, frozenset("B"), OPTIONS).kernel)
    assert loops_after(LINES[:2], DENSE, frozenset("B"), OPTIONS).startswith("// n runs inside")


def test_the_policy_says_why_it_chose_its_tile_and_its_lanes() -> None:
    made = schedule(DENSE, frozenset("B"), OPTIONS)
    reasons = [line.call.because for line in made.lines if line.nest == "T"]
    assert any("columns are contiguous" in r for r in reasons)
    assert any("registers" in r for r in reasons)
