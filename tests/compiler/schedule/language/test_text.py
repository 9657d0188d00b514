"""Tests of the text of schedules: its syntax, and messages for errors."""

from __future__ import annotations

import pytest

from compiler.compute.text import parse_computation
from compiler.errors import CompileError
from compiler.schedule.language.call import text_of
from compiler.schedule.language.replay import replay
from compiler.schedule.language.text import MOST_CHARACTERS, MOST_LINES, parse_schedule
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


def test_comments_and_blank_lines_say_nothing() -> None:
    text = """
    // the columns
    Y: split(n, 8, no, nm)   // two vectors

    Y:reorder( no,m ) because "columns first"
    """
    first, second = parse_schedule(text)
    assert (first.nest, str(first.call)) == ("Y", "split(n, 8, no, nm)")
    assert (first.where.line, first.where.column) == (3, 5)
    assert second.call.because == "columns first"


def test_what_is_printed_is_read_back() -> None:
    text = 'T: split(n, 8, no, nm)\nY#2: unroll(a, b) because "few of them"\n'
    assert text_of(parse_schedule(text)) == text


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        ("Y split(n, 8)", 3, "needed ':'"),
        ("Y: splitt(n, 8)", 4, "there is no move 'splitt': did you mean 'split'?"),
        ("Y: split(n)", 4, "split got 1 arguments"),
        ("Y: split(n, 8, a, b, c)", 4, "split got 5 arguments"),
        ("Y: split(n, m)", 13, "needed a whole number of at least 1, got 'm'"),
        ("Y: split(8, 8)", 10, "needed the name of a loop, got 8"),
        ("Y: split(n, 0)", 13, "got 0"),
        ("Y: split(n, -1)", 13, "needed a name or a whole number"),
        ("Y: split(n, 8.5)", 13, "needed a name or a whole number"),
        ("Y: split(n, 8", 14, "needed ','"),
        ("Y: split(n, 8) split", 16, "needed the end of the line"),
        ("Y: split(n, 8) because why", 24, "a reason in quotes"),
        ("Y: unroll()", 4, "unroll got 0 arguments"),
        ("8: unroll(n)", 1, "the name of a nest"),
        ("Y: ", 4, "needed a move"),
        ("Y: split(n, \u0664)", 13, "needed a name or a whole number"),
        ("Y: split(n, 8\u2028)", 14, "needed ','"),
        ("\u0178: split(n, 8)", 1, "the name of a nest"),
        ("Y: split(n, 9999999999999999999)", 13, "needed a name or a whole number"),
    ],
)
def test_a_mistake_in_the_text_has_its_place(line: str, column: int, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        parse_schedule(f"// first\n{line}", "mine.txt")
    e = caught.value
    assert (e.code, e.where.source, e.where.line) == ("E-SCHEDULE-TEXT", "mine.txt", 2)
    assert message in e.message
    assert e.where.column == column


def test_a_text_without_end_is_refused() -> None:
    with pytest.raises(CompileError, match="E-SCHEDULE-TEXT"):
        parse_schedule("Y: split(n, 8)\n" * (MOST_LINES + 1))
    with pytest.raises(CompileError, match="E-SCHEDULE-TEXT"):
        parse_schedule(" " * (MOST_CHARACTERS + 1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Y: split(k, 4)", "there is no loop 'k'; loops of Y: m, n"),
        ("Z: split(n, 4)", "there is no nest 'Z'"),
        ("T: split(n, 8, k, ni)", "the name k is taken"),
        ("T: split(n, 8, no, no)", "two loops cannot both be named no"),
        ("T: split(n, 8, no_left, ni)", "cannot be the name of a loop"),
        ("T: split(n, 8)\nT: fuse(no, ni, n)", "belongs to a split with a shorter last part"),
        ("T: split(n, 5)\nT: fuse(no, ni, n)", "the name n is taken"),
        ("T: fuse(n, k, nk)", "one of them runs over the reduction"),
        ("T: reorder(k, m, k)", "a loop is named twice"),
        ("T: reorder(k)", "m runs inside the reduction"),
        ("T: vectorize(k)", "all lanes of k would add to one element"),
        ("T: vectorize(n)", "k runs inside n"),
        ("T: vectorize(n)\nT: reorder(k, m, n)", "k runs inside n"),
        ("T: reorder(m, k, n)\nT: vectorize(n)\nT: rfactor(k)", "not over both: n, k"),
        ("T: rfactor(k)", "k runs inside the reduction"),
        ("T: reorder(k, m, n)\nT: parallel(m)", "would add to the same sums"),
        ("T: pack(A)", "A is not a constant"),
        ("T: tensorize(k, dot)\nT: vectorize(n)", "lanes of n would share one sum"),
        ("T: tensorize(m, brick)", "there is no step 'brick'; steps: dot, tile"),
        ("T: tensorize(k, tile)", "k runs over the reduction, but the rows of a tile"),
        ("T: tensorize(m, tile)", "m runs over the rows of a tile: the loops inside must be"),
        (
            "T: tensorize(m, tile)\nT: tensorize(n, tile)",
            "a loop already runs over the rows of tiles",
        ),
        ("T: split(n, 8, N, ni)", "'N' cannot be the name of a loop"),
        ("T: pack(C)", "operands: A, B"),
        ("Y: round_up(n, 8)", "Y has no padding after n"),
    ],
)
def test_a_move_that_is_not_legal_says_why(text: str, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        replay(text, DENSE, frozenset("B"), OPTIONS)
    assert caught.value.code == "E-SCHEDULE-MOVE"
    assert message in caught.value.message
