from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.check.errors import error_of
from compiler.check.feeds import KINDS, make_feeds, turns
from compiler.check.judge import FINE, same_bits
from compiler.check.rounds import make_round, make_rounds
from compiler.ir.graph import Graph
from tests.compiler.passes.numbers import graph

PRODUCT = graph("graph g(x: f32[4,5], w: f32[5,3]) { y: f32[4,3] = matmul(x, w) return y }")


def objection(before: Graph, after: Graph, budget: float, kind: str = "normal") -> str:
    made = make_round(before, kind)
    assert made is not None
    return made.objection(after, budget)[1].objection


def test_zeros_of_both_signs_are_equal_and_nan_is() -> None:
    a = np.array([0.0, -0.0, np.nan, 1.0], np.float32)
    assert same_bits(a, np.array([-0.0, 0.0, np.nan, 1.0], np.float32))
    assert not same_bits(a, np.array([0.0, 0.0, 0.0, 1.0], np.float32))
    assert not same_bits(a, a.astype(np.float64))
    assert same_bits([a, a], (a, a))
    assert not same_bits([a], (a, a))
    assert same_bits(None, None)


def test_a_difference_beyond_the_budget_is_told_with_its_place() -> None:
    after = graph("""
    graph g(x: f32[4,5], w: f32[5,3]) {
      const c: f32[] = literal(1.0001)
      p: f32[4,3] = matmul(x, w)
      y: f32[4,3] = mul(p, c)
      return y
    }
    """)
    assert "first at [0, 0]" in objection(PRODUCT, after, 2e-6)
    assert not objection(PRODUCT, after, 1e-3)


def test_sums_in_another_order_are_not_wrong() -> None:
    """(a + b) + c and a + (b + c), on numbers with arbitrary cancellation."""
    left = graph("""
    graph g(a: f32[50], b: f32[50], c: f32[50]) {
      s: f32[50] = add(a, b)
      y: f32[50] = add(s, c)
      return y
    }
    """)
    right = graph("""
    graph g(a: f32[50], b: f32[50], c: f32[50]) {
      s: f32[50] = add(b, c)
      y: f32[50] = add(a, s)
      return y
    }
    """)
    for kind in KINDS:
        assert not objection(left, right, 2e-6, kind)
    chance = np.random.default_rng(0)
    big = chance.normal(size=50).astype(np.float32) * np.float32(1e8)
    feeds = {"a": big, "b": -big, "c": chance.normal(size=50).astype(np.float32)}
    made = make_round(left, "model", feeds)
    assert made is not None
    assert made.objection(right, 2e-6)[1] is FINE


def test_a_comparison_that_rounding_decides_is_not_judged() -> None:
    tossed = graph("""
    graph g(x: f32[40]) {
      const third: f32[] = literal(3.0)
      a: f32[40] = div(x, third)
      b: f32[40] = mul(a, third)
      y: bool[40] = less(b, x)
      return y
    }
    """)
    never = graph("""
    graph g(x: f32[40]) {
      y: bool[40] = less(x, x)
      return y
    }
    """)
    assert not objection(tossed, never, 1e-6)
    certain = graph("""
    graph g(x: f32[40]) {
      const ten: f32[] = literal(0.5)
      y: bool[40] = less(x, ten)
      return y
    }
    """)
    turned = graph("""
    graph g(x: f32[40]) {
      const ten: f32[] = literal(0.5)
      y: bool[40] = less(ten, x)
      return y
    }
    """)
    assert objection(certain, turned, 1e-3)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("y: f32[2,3] = sub(x, x)", "const y: f32[2,3] = splat(0.0)"),
        ("y: bool[2,3] = less_equal(x, x)", "const y: bool[2,3] = splat(true)"),
        ("y: f32[2,3] = div(x, x)", "const y: f32[2,3] = splat(1.0)"),
    ],
)
def test_special_numbers_come_up_in_small_tensors(before: str, after: str) -> None:
    """The rule is correct for ordinary numbers, but not for NaN or infinities."""
    a, b = (graph(f"graph g(x: f32[2,3]) {{ {text}\n return y }}") for text in (before, after))
    assert any(r.objection(b, 0.0)[1].objection for r in make_rounds(a))


def test_every_kind_is_drawn_for_every_type() -> None:
    for dtype in ("f32", "f16", "bf16", "f64", "i8", "i64", "u8", "u64", "bool", "i4", "c64"):
        g = graph(f"graph g(x: {dtype}[3,4]) {{ return x }}")
        for kind, seed in turns(g, 3):
            first, second = (make_feeds(g, kind, seed)["x"] for _ in range(2))
            assert first.dtype == g.inputs[0].type.dtype.numpy  # type: ignore[union-attr]
            assert same_bits(first, second)


def test_the_infinity_of_an_underflow_may_be_the_logarithm_of_a_tiny_number() -> None:
    a = graph("graph g(x: f32[3]) { s: f32[3] = sigmoid(x)\n y: f32[3] = log(s)\n return y }")
    b = graph(
        "graph g(x: f32[3]) { n: f32[3] = neg(x)\n p: f32[3] = softplus(n)\n "
        "y: f32[3] = neg(p)\n return y }"
    )
    x = np.array([-1e30, -900, 3], np.float32)
    found = make_round(a, "special", {"x": x})
    assert found is not None
    assert not found.objection(b, 2e-6)[1].objection
    # No number of the type has a logarithm of infinity.
    verdict = found.objection_to({"y": np.array([-1e30, -80, -0.0485874], np.float32)}, b, 2e-6)
    assert "1 of 3 elements differ" in verdict[1].objection


def error(made: Any, wide: Any) -> tuple[float, float, float]:
    found = error_of("y", np.asarray(made), np.asarray(wide))
    assert found is not None
    return found.absolute, found.relative, found.ulps


def test_errors_are_told_absolutely_relatively_and_in_units_of_the_last_place() -> None:
    one = np.float32(1)
    above = np.nextafter(one, np.float32(2))
    absolute, relative, ulps = error(np.array([above, -4], np.float32), np.array([1.0, -4.0]))
    assert absolute == pytest.approx(2**-23)
    assert relative == pytest.approx(2**-25)
    assert ulps == pytest.approx(1)
    assert error(np.array([3, 5], np.int32), np.array([3, 7], np.int32)) == (2, 2 / 7, 2)
    assert error(np.array([np.nan], np.float32), np.array([1.0]))[1] == np.inf
    # Numbers beyond f32 overflow in f32 and not in f64.
    assert error(np.array([np.inf, 2], np.float32), np.array([1e300, 2.0]))[2] == 0
