"""Tests that graph texts parse back to equal graphs, and that errors have line and column."""

from __future__ import annotations

import numpy as np
import pytest

import compiler.ops
from compiler.errors import CompileError
from compiler.ir.constant import Constant
from compiler.ir.graph import Graph, Node, Result, Value
from compiler.ir.text import parse_graph
from compiler.ir.types import DType, tensor

assert compiler.ops.__doc__

PLAIN = """graph g(x: f32[N,3]) {
  const w: f32[3,4] = splat(0.5)
  const half: f32[] = literal(0.5) <- c0
  h: f32[N,4] = matmul(x, w, transpose_a=false, transpose_b=false) @ "MatMul 0" <- m0, m1
  a: f32[N,4] = relu(h)
  return a, second=h
}"""


def test_a_graph_prints_as_it_was_written() -> None:
    assert str(parse_graph(PLAIN)) == PLAIN


def test_defaults_may_be_left_out_and_are_printed() -> None:
    short = PLAIN.replace(", transpose_a=false, transpose_b=false", "")
    assert parse_graph(short) == parse_graph(PLAIN)


def test_comments_and_spaces_do_not_matter() -> None:
    loose = PLAIN.replace("\n", "  // a remark\n\n ")
    assert parse_graph(loose) == parse_graph(PLAIN)


@pytest.mark.parametrize(
    "name", ["x", "conv1/weights:0", "return", "_", "a b", 'quo"te', "ü", "new\nline", "1", "a\\"]
)
def test_any_name_survives(name: str) -> None:
    node = Node("relu", (name,), ("y",), (tensor("f32[2]"),), {}, name, (name, "other"))
    g = Graph("g", (Value(name, tensor("f32[2]")),), (Result(name, "y"),), (node,))
    assert parse_graph(str(g)) == g


def test_letters_of_all_scripts_are_readable_and_what_cannot_be_seen_is_not_there() -> None:
    for name, said in {
        "вход 1": '"вход 1"',
        "層/重み": '"層/重み"',
        "a\u202eb": '"a\\u202eb"',  # reverses the following text
        "a\u2028b": '"a\\u2028b"',  # a line end in other languages
        "a\u00a0b": '"a\\u00a0b"',
        "\ud800": '"\\ud800"',
    }.items():
        g = Graph(name, (Value("x", tensor("f32[2]")),), (Result("x", "x"),), ())
        assert str(g).startswith(f"graph {said}(")
        assert parse_graph(str(g)) == g


@pytest.mark.parametrize(
    "values",
    [
        np.array([1.5, -0.0, np.inf, 1e-40], np.float32),
        np.array([np.nan, 1.0], np.float32),
        np.array([0.1, 1 / 3], np.float64),
        np.array([[1, -2], [3, 4]], np.int8),
        np.array([True, False]),
        np.array(["a", 'b"\n', "ü"], dtype=object),
        np.array([1 + 2j], np.complex64),
        np.array([0.1, 65504], np.float16),
        np.array([0.1, 3e38]).astype(DType.bf16.numpy),
        np.array([-8, 7]).astype(DType.i4.numpy),
        np.zeros((0, 3), np.float32),
        np.arange(1000.0),
        np.broadcast_to(np.float32(0.1), (50, 60)),
    ],
    ids=lambda a: f"{a.dtype}{list(a.shape)}",
)
def test_constants_keep_every_bit(values: np.ndarray) -> None:
    c = Constant.of(values)
    g = Graph("g", (), (Result("c", "c"),), (), {"c": c})
    again = parse_graph(str(g)).constants["c"]
    assert again.type == c.type
    if values.dtype == object:
        assert again.array().tolist() == values.tolist()
    else:
        assert again.array().tobytes() == np.ascontiguousarray(values).tobytes()


@pytest.mark.parametrize(
    ("old", "new", "code", "line", "column"),
    [
        ("relu", "rellu", "E-TEXT-OPERATOR", 5, 17),
        ("splat(0.5)", "splat(0.5,1)", "E-TEXT-SYNTAX", 2, 35),
        ("splat(0.5)", 'blob("00")', "E-TEXT-STORAGE", 2, 28),
        ("literal(0.5)", "literal([0.5])", "E-TEXT-SYNTAX", 3, None),
        ("literal(0.5)", 'literal("half")', "E-TEXT-SYNTAX", 3, None),
        ("literal(0.5)", 'literal(hex("0x"))', "E-TEXT-SYNTAX", 3, None),
        ("literal(0.5)", 'literal(hex("012345"))', "E-TEXT-SYNTAX", 3, None),
        ("half: f32[] = literal(0.5)", "half: i8[] = literal(0.5)", "E-TEXT-SYNTAX", 3, None),
        ("half: f32[] = literal(0.5)", "half: u8[] = literal(-1)", "E-TEXT-SYNTAX", 3, None),
        ("return", "retrun", "E-TEXT-SYNTAX", 6, 10),
        ("a, second=h", "a, , h", "E-TEXT-SYNTAX", 6, 13),
        ("f32[N,3]", "f33[N,3]", "E-TEXT-SYNTAX", 1, 12),
        ("transpose_a=false", "transpose_a=maybe", "E-TEXT-SYNTAX", 4, 42),
        ("transpose_a=false", "transpose_c=false", "E-OP-ATTRIBUTE", 4, None),
    ],
)
def test_errors_name_code_line_and_column(
    old: str, new: str, code: str, line: int, column: int | None
) -> None:
    with pytest.raises(CompileError) as e:
        parse_graph(PLAIN.replace(old, new), source="lesson")
    assert e.value.code == code
    assert (e.value.where.source, e.value.where.line) == ("lesson", line)
    assert column is None or e.value.where.column == column


def test_a_text_cut_anywhere_is_refused_with_a_code() -> None:
    for end in range(len(PLAIN) - 1):
        with pytest.raises(CompileError) as e:
            parse_graph(PLAIN[:end])
        assert e.value.code.startswith(("E-TEXT-", "E-OP-"))


def test_regions_read_back() -> None:
    text = """graph g(x: f32[2,3]) {
  y: f32[2,3] = fusion(x, kind="elementwise") {
    body: graph body(a: f32[2,3]) {
      b: f32[2,3] = relu(a)
      return b
    }
  }
  return y
}"""
    g = parse_graph(text)
    assert g.nodes[0].regions["body"].nodes[0].op == "relu"
    assert parse_graph(str(g)) == g


def test_regions_nested_without_end_are_refused() -> None:
    text = "graph g() { y: f32[] = fusion() { body: " * 5000
    with pytest.raises(CompileError) as e:
        parse_graph(text)
    assert e.value.code == "E-TEXT-SYNTAX"
