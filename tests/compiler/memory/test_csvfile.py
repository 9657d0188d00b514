import io
from typing import Any

import pytest

from compiler.errors import CompileError
from compiler.memory import plan_memory
from compiler.memory.csvfile import LONGEST_LINE, read_csv, read_csv_file, write_csv

PROBLEM = "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\n"


def test_a_problem_is_read_and_its_solution_reads_back() -> None:
    buffers = read_csv(PROBLEM)
    assert [(b.name, b.start, b.end, b.size) for b in buffers] == [
        ("b1", 0, 3, 4),
        ("b2", 3, 9, 4),
        ("b3", 0, 9, 4),
    ]
    plan = plan_memory(buffers, alignment_bytes=1)
    assert plan.peak_bytes == 8
    solution = write_csv(plan)
    assert solution.splitlines()[0] == "id,lower,upper,size,offset"
    assert [b.offset for b in read_csv(solution)] == [b.offset for b in plan.buffers]


def test_columns_may_stand_in_any_order_with_blank_lines_and_a_byte_order_mark() -> None:
    (b,) = read_csv("\ufeffsize, upper ,id,lower\n\n 7,5,x,2\n\n")
    assert (b.name, b.start, b.end, b.size, b.offset) == ("x", 2, 5, 7, -1)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "expected the columns"),
        ("id,lower,size\na,1,2\n", 1, "without upper"),
        ("id,lower,upper,size\na,0,3,4\nb,0,x,4\n", 3, "whole number as upper, got 'x'"),
        ("id,lower,upper,size\na,0,3\n", 2, "expected 4 cells, got 3"),
        ("id,lower,upper,size\na,0,3,4\n\nb,5,5,4\n", 4, "end after its start"),
        ("id,lower,upper,size\na,0,3,-4\n", 2, "at least 0 bytes"),
        ("id,lower,upper,size\na,-1,3,4\n", 2, "a lower of at least 0"),
        ('id,lower,upper,size\na,0,3,4\n"b,0,3,1\n', 3, "unexpected end"),
        ('id,lower,upper,size\n"a"b,0,3,4\n', 2, "expected after"),
        ("id,lower,upper,size\na,0,3,4\na,0,3,4\n", 3, "already used in line 2"),
        (
            "id,lower,upper,size\na,0,3,4\nb,0,3,1152921504606846976\n",
            3,
            "'b': sizes, pins and alignments up to here",
        ),
        ("id,lower,upper,size,pinned\na,0,3,4,\nb,0,3,4,-7\n", 3, "pin of at least 0.*-7"),
        ("id,lower,upper,size,pinned\na,0,3,8,0\n\nb,2,4,8,4\n", 4, "pinned to bytes of 'a'"),
        ("id,lower,upper,size,pinned,shares\nx,0,1,1,,\na,0,3,8,0,g\nb,1,4,8,8,g\n", 3, "0 and 8"),
        ("id,lower,upper,size,alignment,pinned\na,0,3,8,64,5\n", 2, "not a multiple of 64"),
    ],
)
def test_rows_that_make_no_sense_are_named_by_line(text: str, line: int, words: str) -> None:
    with pytest.raises(CompileError, match=words) as caught:
        read_csv(text, "p.csv")
    assert caught.value.code == "E-PLAN-INPUT"
    assert caught.value.where.line == line


class Endless(io.RawIOBase):
    """An endless file of equal bytes."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        view[:] = b"a" * len(view)
        return len(view)


def test_a_file_is_read_line_by_line_whatever_ends_its_lines() -> None:
    for end in ("\n", "\r\n", "\r"):
        text = f"\ufeff{PROBLEM}c\u2028d,0,1,2\n".replace("\n", end)
        buffers = read_csv_file(io.BytesIO(text.encode()))
        assert [b.name for b in buffers] == ["b1", "b2", "b3", "c\u2028d"]


def test_a_line_without_end_and_bytes_that_are_no_text_are_named() -> None:
    with pytest.raises(CompileError, match="more than 1,000,000 bytes") as caught:
        read_csv_file(io.BufferedReader(Endless()), "p.csv")
    assert caught.value.where.line == 1
    assert len(PROBLEM) < LONGEST_LINE
    with pytest.raises(CompileError, match="not UTF-8: byte 0xff") as caught:
        read_csv_file(io.BytesIO(PROBLEM.encode() + b"b4,0,\xff,4\n"), "p.csv")
    assert (caught.value.where.line, caught.value.where.column) == (5, 6)


def test_alignment_pins_and_shared_places_are_columns_where_anything_has_them() -> None:
    text = (
        "id,lower,upper,size,alignment,pinned,shares\n"
        "a,0,3,4,16,,\n"
        "b,3,9,4,,32,\n"
        "c,1,2,8,,,s\n"
        "d,4,6,5,,,s\n"
    )
    buffers = read_csv(text)
    assert [(b.alignment_bytes, b.pinned, b.shares) for b in buffers] == [
        (16, -1, ""),
        (1, 32, ""),
        (1, -1, "s"),
        (1, -1, "s"),
    ]
    plan = plan_memory(buffers, alignment_bytes=1)
    assert read_csv(write_csv(plan)) == list(plan.buffers)
    assert write_csv(plan).splitlines()[0] == "id,lower,upper,size,offset,alignment,pinned,shares"
