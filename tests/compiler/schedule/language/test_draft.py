"""Tests of checking schedules during editing: errors at words, and loops after each line."""

from __future__ import annotations

from compiler.compute.text import parse_computation
from compiler.schedule.language.draft import MOST_PROBLEMS, Draft, draft
from compiler.targets.options import CodeOptions

MEAN = parse_computation(
    """computation mean(A: f32[3,10]) -> Y: f32[3,10] {
  temporary S: f32[3]
  S[i] = reduce_add([k], A[i, k])  for i<3, k<10
  Y[i, j] = sub(A[i, j], S[i])  for i<3, j<10
}"""
)


def read(text: str) -> Draft:
    return draft(text, MEAN, frozenset(), CodeOptions())


def places(found: Draft) -> list[tuple[int, int, int]]:
    return [(e.where.line, e.where.column, e.where.length) for e in found.problems]


def test_the_loops_of_each_nest_are_told_line_by_line() -> None:
    found = read("// lanes\nY: split(j, 4, jo, ji)\nY: vectorize(ji)")
    assert (found.problems, found.n_moves, found.stages) == ((), 2, ("S", "Y"))
    at = {(n.nest, n.line): n.loops for n in found.nests}
    assert at[("S", 0)] == ("i", "k")
    assert at[("Y", 2)] == at[("Y", 3)] == (*at[("Y", 0)][:-1], "jo", "ji")
    assert next(n for n in found.nests if n.nest == "Y").tensors == ("A", "S")


def test_problems_of_several_nests_are_told_together_at_their_words() -> None:
    found = read("S: unroll(up)\nS: unroll(up)\nY: split(j, 4, jo, ji)\nY: vectorize(jo)")
    assert places(found) == [(1, 11, 2), (4, 14, 2)]
    assert [e.code for e in found.problems] == ["E-SCHEDULE-MOVE"] * 2


def test_what_is_no_move_is_told_for_every_line_and_hides_what_follows() -> None:
    found = read("S: unroll(up)\n  Y: spilt(j, 4)\nY: split(j, 0)\nY: unroll(never)\nwhat")
    assert places(found) == [(1, 11, 2), (2, 6, 5), (3, 13, 1), (5, 5, 1)]
    many = read("what\n" * (3 * MOST_PROBLEMS))
    assert len(many.problems) == MOST_PROBLEMS


def test_a_nest_that_is_not_there_and_one_that_is_not_finished() -> None:
    assert places(read("Q: unroll(i)")) == [(1, 1, 1)]
    (problem,) = read("S: split(i, 3, io, ii)\nS: reorder(k, ii)").problems
    assert (problem.where.line, problem.where.length) == (2, 2)
    assert "runs inside the reduction" in problem.message


def test_moves_on_stages_end_what_is_read_when_they_are_refused() -> None:
    found = read("S: inline()\nY: unroll(never)")
    assert [e.where.line for e in found.problems] == [1]
    assert "S is a reduction" in found.problems[0].message
