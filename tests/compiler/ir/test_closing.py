"""Tests of replacing open types by inferred types while keeping known sizes."""

from __future__ import annotations

import pytest

import compiler.ops
from compiler.ir.closing import with_closed_types
from compiler.ir.text import parse_graph
from compiler.ir.types import parse_type
from compiler.ir.verify import refines

assert compiler.ops.__doc__

CUT = """graph g(x: f32[N,4], n: i64[1]) {{
  const zero: i64[1] = literal(0)
  const two: i64[1] = literal(2)
  y: f32[{size},4] = slice(x, zero, {end})
  return y
}}"""


@pytest.mark.parametrize(
    ("size", "end", "closed"),
    [("M", "n", "M"), ("N+1", "n", "N+1"), ("M", "two", "min(2, N)")],
)
def test_a_size_is_replaced_by_more_than_a_new_name(size: str, end: str, closed: str) -> None:
    graph = with_closed_types(parse_graph(CUT.format(size=size, end=end)))
    assert str(graph.types["y"]) == f"f32[{closed},4]"


@pytest.mark.parametrize(
    ("recorded", "inferred", "may"),
    [
        ("seq(f32[3,4])", "seq(f32[N,4])", True),
        ("seq(f32[N,4])", "seq(f32[3,4])", False),
        ("optional(seq(i64[2]))", "optional(seq(i64[...]))", True),
        ("seq(f32[3])", "optional(f32[N])", False),
        ("seq(f32[3])", "opaque", True),
        ("opaque", "seq(f32[3])", False),
    ],
)
def test_a_record_of_a_sequence_may_close_what_is_open(
    recorded: str, inferred: str, may: bool
) -> None:
    assert refines(parse_type(recorded), parse_type(inferred)) == may
