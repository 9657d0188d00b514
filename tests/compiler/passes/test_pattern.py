"""Tests of patterns: matches, the order of attempts, and the printed form."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.ir.constant import Constant
from compiler.ir.editor import Editor
from compiler.ir.operator import Call, Tensor
from compiler.ir.types import tensor
from compiler.passes.engine.matching import match, operands
from compiler.passes.engine.pattern import (
    Any,
    AnyAttr,
    Const,
    ConstTensor,
    Fact,
    Known,
    Named,
    Near,
    Number,
    OneOf,
    Product,
    depth,
    pattern_text,
    placeholders,
    roots,
    uniform,
)
from compiler.passes.rules.calls import o
from tests.compiler.passes.numbers import graph

X, Y = Any("x"), Any("y")


def matches(pattern: Call, text: str, at: str = "z") -> list[dict[str, object]]:
    ed = Editor(graph(text))
    node = ed.producer(at)
    assert node is not None
    return [operands(ed, m) for m in match(ed, pattern, node)]


def names(found: dict[str, object]) -> dict[str, str]:
    return {k: v.name for k, v in found.items() if isinstance(v, Tensor)}


SUB = """
graph g(a: f32[3], b: f32[3]) {
  n: f32[3] = neg(b)
  z: f32[3] = sub(a, n)
  return z
}
"""
ADD = SUB.replace("sub(a, n)", "add(n, a)")


def test_operands_of_a_commutative_operator_match_in_both_orders() -> None:
    assert [names(m) for m in matches(o.add(X, o.neg(Y)), ADD)] == [{"x": "a", "y": "b"}]


def test_operands_of_other_operators_match_in_their_order_only() -> None:
    assert [names(m) for m in matches(o.sub(X, o.neg(Y)), SUB)] == [{"x": "a", "y": "b"}]
    assert matches(o.sub(o.neg(Y), X), SUB) == []


def test_a_placeholder_used_twice_stands_for_one_value() -> None:
    text = "graph g(a: f32[3], b: f32[3]) { z: f32[3] = mul(a, %s) return z }"
    assert matches(o.mul(X, X), text % "b") == []
    assert [names(m) for m in matches(o.mul(X, X), text % "a")] == [{"x": "a"}]


def test_every_way_to_match_is_tried() -> None:
    text = """
    graph g(a: f32[3], b: f32[3]) {
      p: f32[3] = neg(a)
      q: f32[3] = neg(b)
      z: f32[3] = add(p, q)
      return z
    }
    """
    found = [names(m) for m in matches(o.add(o.neg(X), Y), text)]
    assert found == [{"x": "a", "y": "q"}, {"x": "b", "y": "p"}]


def test_an_attribute_that_is_not_mentioned_must_have_its_default() -> None:
    text = "graph g(a: f32[3,3]) { z: f32[3,3] = matmul(a, a, transpose_b=%s) return z }"
    assert len(matches(o.matmul(X, Y), text % "false")) == 1
    assert matches(o.matmul(X, Y), text % "true") == []
    (found,) = matches(o.matmul(X, Y, transpose_b=AnyAttr("t")), text % "true")
    assert found["t"] is True


def test_a_list_matches_the_tuple_that_a_node_holds() -> None:
    text = "graph g(a: f32[2,3]) { z: f32[3,2] = transpose(a, perm=[1,0]) return z }"
    assert len(matches(o.transpose(X, perm=[1, 0]), text)) == 1
    assert matches(o.transpose(X, perm=[0, 1]), text) == []


CLIP = """
graph g(a: f32[3]) {
  const lo: f32[] = literal(-1.0)
  const hi: f32[1] = literal(6.0)
  z: f32[3] = clip(a%s)
  return z
}
"""


@pytest.mark.parametrize(
    ("given", "lo", "hi"),
    [(", lo, hi", -1.0, 6.0), (", _, hi", None, 6.0), (", lo", -1.0, None), ("", None, None)],
)
def test_an_optional_operand_may_be_left_out(
    given: str, lo: float | None, hi: float | None
) -> None:
    pattern = o.clip(X, Number("lo", optional=True), Number("hi", optional=True))
    (found,) = matches(pattern, CLIP % given)
    assert (found["lo"], found["hi"]) == (lo, hi)


def test_an_operand_that_is_not_mentioned_must_be_left_out() -> None:
    assert matches(o.clip(X), CLIP % ", lo") == []
    assert len(matches(o.clip(X), CLIP % "")) == 1


def test_a_plain_number_stands_for_constants_of_that_number() -> None:
    assert len(matches(o.clip(X, -1, 6), CLIP % ", lo, hi")) == 1
    assert matches(o.clip(X, -1, 5), CLIP % ", lo, hi") == []


def test_a_constant_comes_with_its_elements_however_many() -> None:
    text = """
    graph g(a: f32[300]) {
      const c: f32[300] = splat(2.5)
      z: f32[300] = mul(c, a)
      return z
    }
    """
    (found,) = matches(o.mul(X, Const("c")), text)
    assert isinstance(found["c"], ConstTensor)
    assert found["c"].stored.is_splat
    assert names(found)["x"] == "a"


def test_uniform_tells_zeros_of_different_sign_and_mixed_numbers_apart() -> None:
    assert uniform(Constant.of(np.array([0.0, -0.0], np.float32))) is None
    assert uniform(Constant.of(np.array([1.0, 2.0], np.float32))) is None
    assert uniform(Constant.of(np.array([[7, 7], [7, 7]]))) == 7
    assert uniform(Constant.of(np.zeros(0, np.float32))) is None
    assert uniform(Constant.splat(0.5, tensor("bf16[9]"))) == 0.5
    assert uniform(Constant.of(np.array([True]))) is True


def test_nan_is_a_number_that_equals_no_plain_number() -> None:
    value = uniform(Constant.splat(np.nan, tensor("f32[4]")))
    assert isinstance(value, float)
    assert value != value


def test_a_pattern_prints_as_it_is_written() -> None:
    pattern = o.mul(
        o.matmul(X, Const("w"), transpose_a=AnyAttr("t"), transpose_b=True),
        o.clip(Any("y", optional=True), None, Number("hi", optional=True)),
    )
    assert pattern_text(pattern) == (
        "mul(matmul(x, const w, transpose_a=t, transpose_b=true), clip(y?, _, number hi?))"
    )
    assert pattern_text(o.transpose(X, perm=[1, 0])) == "transpose(x, perm=[1,0])"
    assert placeholders(pattern) == ["x", "w", "t", "y", "hi"]
    assert depth(pattern) == 2


HALVES = {
    "first": "p: f32[3] = mul(half, a) z: f32[3] = mul(p, b)",
    "last": "p: f32[3] = mul(b, a) z: f32[3] = mul(p, half)",
    "inside": "p: f32[3] = mul(b, half) z: f32[3] = mul(a, p)",
    "divided": "p: f32[3] = div(a, two) z: f32[3] = mul(b, p)",
    "divided last": "p: f32[3] = mul(b, a) z: f32[3] = div(p, two)",
}


@pytest.mark.parametrize("body", HALVES.values(), ids=list(HALVES))
def test_a_product_fits_in_any_order(body: str) -> None:
    text = f"""
    graph g(c: f32[3], b: f32[3]) {{
      const half: f32[] = literal(0.5)
      const two: f32[] = literal(2.0)
      a: f32[3] = exp(c)
      {body}
      return z
    }}
    """
    assert [names(m) for m in matches(Product(X, 0.5, o.exp(Y)), text)] == [{"x": "b", "y": "c"}]
    assert matches(Product(X, 0.25, o.exp(Y)), text) == []
    assert matches(Product(X, 0.5, o.exp(X)), text) == []


def test_a_product_may_have_a_product_as_a_factor() -> None:
    text = """
    graph g(a: f32[3], b: f32[3], c: f32[3]) {
      p: f32[3] = mul(a, b)
      z: f32[3] = mul(p, c)
      return z
    }
    """
    found = [names(m) for m in matches(Product(X, Y), text)]
    assert found == [{"x": "p", "y": "c"}, {"x": "c", "y": "p"}]
    assert len(matches(Product(X, Y, Any("w")), text)) == 6


def test_a_quotient_of_values_is_no_product() -> None:
    text = "graph g(a: f32[3], b: f32[3]) { z: f32[3] = div(a, b) return z }"
    assert matches(Product(X, Y), text) == []


def test_a_choice_gives_none_for_what_its_other_patterns_name() -> None:
    pattern = o.relu(OneOf(o.neg(X), o.sub(Y, X)))
    text = "graph g(a: f32[3], b: f32[3]) { p: f32[3] = %s z: f32[3] = relu(p) return z }"
    assert names(matches(pattern, text % "sub(a, b)")[0]) == {"x": "b", "y": "a"}
    (found,) = matches(pattern, text % "neg(a)")
    assert names(found) == {"x": "a"}
    assert found["y"] is None
    assert matches(pattern, text % "add(a, b)") == []
    assert placeholders(pattern) == ["x", "y"]
    assert pattern_text(pattern) == "relu(neg(x) | sub(y, x))"
    assert depth(pattern) == 2


def test_a_choice_may_stand_at_the_root() -> None:
    pattern = OneOf(o.neg(X), o.sub(0, X))
    assert roots(pattern) == ("neg", "sub")
    text = "graph g(a: f32[3]) { const c: f32[] = literal(0.0) z: f32[3] = sub(c, a) return z }"
    assert [names(m) for m in matches(pattern, text)] == [{"x": "a"}]


@pytest.mark.parametrize(
    ("dtype", "number", "fits"),
    [("f32", "0.70710678", True), ("f32", "0.70711", False), ("f16", "0.7070", True)],
)
def test_a_number_may_be_as_near_as_its_type_says(dtype: str, number: str, fits: bool) -> None:
    text = f"""
    graph g(a: {dtype}[3]) {{
      const c: {dtype}[] = literal({number})
      z: {dtype}[3] = mul(a, c)
      return z
    }}
    """
    assert bool(matches(o.mul(X, Near(0.5**0.5)), text)) is fits
    assert pattern_text(Near(0.5**0.5)) == "near 0.7071068"


def test_a_node_met_twice_counts_once() -> None:
    text = """
    graph g(a: f32[3]) {
      p: f32[3] = exp(a)
      z: f32[3] = mul(p, p)
      return z
    }
    """
    ed = Editor(graph(text))
    node = ed.producer("z")
    assert node is not None
    (m,) = match(ed, o.mul(o.exp(X), o.exp(X)), node)
    assert [n.output for n in m.nodes] == ["z", "p"]


def test_a_named_call_is_received_as_a_value_with_what_is_inside() -> None:
    pattern = o.add(X, Named("n", o.neg(Y)))
    assert [names(m) for m in matches(pattern, ADD)] == [{"x": "a", "n": "n", "y": "b"}]
    assert pattern_text(pattern) == "add(x, n = neg(y))"
    assert placeholders(pattern) == ["x", "n", "y"]
    assert depth(pattern) == 2


def test_a_value_fits_where_a_fact_is_known_of_it() -> None:
    known = Fact("{} is b", lambda ed, value: value == "b")
    pattern = o.add(X, o.neg(Known("y", known)))
    assert [names(m) for m in matches(pattern, ADD)] == [{"x": "a", "y": "b"}]
    assert matches(o.add(Known("x", known), o.neg(Y)), ADD) == []
    assert pattern_text(pattern) == "add(x, neg(y is b))"


@pytest.mark.parametrize("op", ["logical_and", "logical_or", "logical_xor"])
def test_conditions_match_in_both_orders(op: str) -> None:
    text = f"""
    graph g(a: bool[3], b: bool[3]) {{
      n: bool[3] = logical_not(b)
      z: bool[3] = {op}(n, a)
      return z
    }}
    """
    assert [names(m) for m in matches(o[op](X, o.logical_not(Y)), text)] == [{"x": "a", "y": "b"}]
