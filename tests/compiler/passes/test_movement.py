"""Tests of near misses of the data movement passes, and of the reasons in the ledger."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.ir.affine import symbol
from compiler.ir.graph import Graph
from compiler.ir.infer import specialize
from compiler.passes import PASSES, RULES
from compiler.passes.engine.rewrite import apply_rules
from compiler.passes.engine.rule import ROUNDINGS
from compiler.passes.rules.views.cuts import Cut, merged_cut
from compiler.trace import Log
from tests.compiler.passes.numbers import (
    applied,
    assert_same_results,
    declined,
    graph,
    plain,
    random_inputs,
)


def after(name: str, before: Graph, **options: object) -> tuple[Graph, Log]:
    log = Log()
    made = PASSES[name].run(before, log, **options)
    assert_same_results(before, made, random_inputs(before), error=ROUNDINGS)
    return made, log


STAY = {
    "fold_shapes": [
        # A data-dependent size.
        """
        graph g(x: f32[N,3], k: i64[1]) {
          one: i64[1] = shape(x, start=0, end=1)
          s: i64[2] = concat(one, k, axis=0)
          y: f32[N,k_d0] = fill(s)
          return s
        }
        """,
        # Two nodes; no form has fewer.
        """
        graph g(x: f32[N,3], y: f32[M,2]) {
          n: i64[1] = shape(x, start=0, end=1)
          m: i64[1] = shape(y, start=0, end=1)
          s: i64[2] = concat(m, n, axis=0)
          return s
        }
        """,
    ],
    "fold_split_concat": [
        # In another order.
        """
        graph g(x: f32[2,7]) {
          a: f32[2,3], b: f32[2,4] = split(x, axis=1, sizes=[3,4])
          c: f32[2,7] = concat(b, a, axis=1)
          return c
        }
        """,
        # Adjacent slices, but not along the axis of the split.
        """
        graph g(x: f32[4,6]) {
          a: f32[2,6], b: f32[2,6] = split(x, axis=0, sizes=[2,2])
          c: f32[2,12] = concat(a, b, axis=1)
          return c
        }
        """,
        # A slice across two operands.
        """
        graph g(x: f32[2,3], y: f32[2,4]) {
          const one: i64[1] = literal(1)
          const five: i64[1] = literal(5)
          c: f32[2,7] = concat(x, y, axis=1)
          s: f32[2,4] = slice(c, one, five, one)
          return s
        }
        """,
        # Slices that omit a position, or include one twice.
        """
        graph g(x: f32[2,7]) {
          const zero: i64[1] = literal(0)
          const one: i64[1] = literal(1)
          const three: i64[1] = literal(3)
          const four: i64[1] = literal(4)
          const far: i64[1] = literal(99)
          a: f32[2,3] = slice(x, zero, three, one)
          b: f32[2,3] = slice(x, four, far, one)
          c: f32[2,3] = add(a, b)
          return c
        }
        """,
        # The inner concatenation is a result, so it is stored anyway.
        """
        graph g(x: f32[2,3], y: f32[2,4]) {
          a: f32[2,7] = concat(x, y, axis=1)
          b: f32[2,10] = concat(a, x, axis=1)
          return a, b
        }
        """,
    ],
    "sink_transposes": [
        # The intermediate value is a result in its own layout, and of the same size.
        """
        graph g(x: f32[2,3,4]) {
          a: f32[2,4,3] = transpose(x, perm=[0,2,1])
          b: f32[2,4,3] = sigmoid(a)
          return b
        }
        """,
        # The second transpose does not invert the first.
        """
        graph g(x: f32[2,3,4]) {
          a: f32[3,4,2] = transpose(x, perm=[1,2,0])
          b: f32[3,4,2] = sigmoid(a)
          c: f32[4,2,3] = transpose(b, perm=[1,2,0])
          d: f32[4,2,3] = layer_norm(c, s)
          const s: f32[3] = literal(1.0,2.0,3.0)
          return b, d
        }
        """,
        # A matrix product requires its axes in this order.
        """
        graph g(x: f32[5,3,4], w: f32[5,3,2]) {
          a: f32[5,4,3] = transpose(x, perm=[0,2,1])
          b: f32[5,4,2] = matmul(a, w)
          c: f32[5,2,4] = transpose(b, perm=[0,2,1])
          return c
        }
        """,
    ],
    "remove_redundant_broadcasts": [
        # No other operand determines the shape.
        """
        graph g(x: f32[1,4], y: f32[1,4]) {
          const s: i64[2] = literal(3,4)
          t: f32[3,4] = expand(x, s)
          a: f32[3,4] = add(t, y)
          b: f32[7,4] = concat(a, a, y, axis=0)
          c: f32[3,4] = expand(y, s)
          d: f32[7,4] = concat(c, c, y, axis=0)
          e: f32[7,4] = mul(b, d)
          return e, t, a
        }
        """,
        # Scales along an axis counted from the front, which the repetition moves.
        """
        graph g(x: u8[3,3], s: f32[3]) {
          const to: i64[3] = literal(2,3,3)
          const z: u8[3] = literal(1,2,3)
          t: u8[2,3,3] = expand(x, to)
          y: f32[2,3,3] = dequantize(t, s, z, axis=1, to=f32)
          return y
        }
        """,
    ],
    "push_down_slices": [
        # Another node reads the entire product.
        """
        graph g(x: f32[5,6], w: f32[6,7]) {
          const zero: i64[] = literal(0)
          p: f32[5,7] = matmul(x, w)
          y: f32[7] = gather(p, zero, axis=0)
          return p, y
        }
        """,
        # Along the axis of the softmax sum.
        """
        graph g(x: f32[5,6]) {
          const zero: i64[] = literal(0)
          p: f32[5,6] = softmax(x, axis=0)
          y: f32[6] = gather(p, zero, axis=0)
          return y
        }
        """,
        # The relu is computed as the convolution, which is stored completely, is written.
        """
        graph g(x: f32[1,3,8,9], w: f32[4,3,1,1]) {
          const one: i64[1] = literal(1)
          const three: i64[1] = literal(3)
          c: f32[1,4,8,9] = conv(x, w, strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
          r: f32[1,4,8,9] = relu(c)
          y: f32[1,2,8,9] = slice(r, one, three, one)
          return y
        }
        """,
    ],
}


@pytest.mark.parametrize(("name", "text"), [(n, t) for n, texts in STAY.items() for t in texts])
def test_a_near_miss_stays_as_it_is(name: str, text: str) -> None:
    before = graph(text)
    made, log = after(name, before)
    assert made is before, plain(made)
    assert not applied(log.steps)


def test_a_residual_region_runs_in_the_order_of_all_its_operands() -> None:
    before = graph(
        """
        graph g(x: f32[2,3,4,5], y: f32[2,3,4,5]) {
          const scale: f32[3] = literal(0.5,2.0,-1.0)
          a: f32[2,4,5,3] = transpose(x, perm=[0,2,3,1])
          b: f32[2,4,5,3] = transpose(y, perm=[0,2,3,1])
          c: f32[2,4,5,3] = add(a, b)
          d: f32[2,4,5,3] = mul(c, scale)
          m: f32[2,1,1,3] = reduce_mean(d, axes=[1,2])
          e: f32[2,4,5,3] = mul(d, m)
          f: f32[2,3,4,5] = transpose(e, perm=[0,3,1,2])
          return f
        }
        """
    )
    made, log = after("sink_transposes", before)
    assert "transpose" not in {n.op for n in made.nodes}
    assert {s.error for s in log.steps if s.outcome == "applied"} == {ROUNDINGS}
    same, log = after("sink_transposes", before, inexact=False)
    assert same is before
    assert "in another order" in declined(log.steps, "sink_transposes")[0]


def test_transposes_move_behind_what_makes_tensors_small() -> None:
    before = graph(
        """
        graph g(x: f32[8,30,40]) {
          const zero: i64[] = literal(0)
          a: f32[30,40,8] = transpose(x, perm=[1,2,0])
          b: f32[30,40,8] = exp(a)
          c: f32[40,8] = gather(b, zero, axis=0)
          return c
        }
        """
    )
    made, _ = after("sink_transposes", before)
    assert [n.op for n in made.nodes] == ["exp", "gather", "transpose"]
    assert made.nodes[1].tensor.static_shape == (8, 40)


def test_a_declined_region_says_what_it_costs() -> None:
    before = graph(STAY["sink_transposes"][0])
    _, log = after("sink_transposes", before)
    assert "launches cost 20,192 bytes" in declined(log.steps, "sink_transposes")[0]


def test_pieces_of_a_concatenation_are_its_operands() -> None:
    before = graph(
        """
        graph g(x: f32[2,3], y: f32[2,4], z: f32[2,1]) {
          c: f32[2,8] = concat(x, y, z, axis=1)
          a: f32[2,3], b: f32[2,2], d: f32[2,2], e: f32[2,1] = split(c, axis=1, sizes=[3,2,2,1])
          p: f32[2,2] = mul(b, d)
          return a, p, e
        }
        """
    )
    made, log = after("fold_split_concat", before)
    assert {n.op for n in made.nodes} <= {"slice", "split", "mul"}
    assert applied(log.steps).count("piece_of_concat") == 4


def test_a_product_for_one_row_is_computed_for_that_row() -> None:
    before, _ = PASSES["push_down_slices"].example_graphs()
    _, log = after("push_down_slices", before)
    assert "us instead of" in log.steps[-1].because
    same, _ = after("push_down_slices", before, inexact=False)
    assert same is before


def test_orders_that_do_not_cancel_are_composed() -> None:
    before = graph(
        """
        graph g(x: f32[2,3,4,5]) {
          a: f32[3,4,5,2] = transpose(x, perm=[1,2,3,0])
          b: f32[3,4,5,2] = neg(a)
          c: f32[5,3,4,2] = transpose(b, perm=[2,0,1,3])
          d: f32[2,3,4,5] = transpose(b, perm=[3,0,1,2])
          return c, d
        }
        """
    )
    made, _ = after("sink_transposes", before)
    assert [n.op for n in made.nodes] == ["neg", "transpose"]
    assert made.nodes[1].attrs["perm"] == (3, 1, 2, 0)


def test_a_part_of_the_second_operand_is_counted_from_its_begin() -> None:
    before = graph(
        """
        graph g(x: f32[2,3], y: f32[2,5]) {
          const four: i64[1] = literal(4)
          const six: i64[1] = literal(-2)
          const one: i64[1] = literal(1)
          c: f32[2,8] = concat(x, y, axis=1)
          s: f32[2,2] = slice(c, four, six, one)
          return s
        }
        """
    )
    made, log = after("fold_split_concat", before)
    assert applied(log.steps) == ["part_of_part"]
    assert [n.op for n in made.nodes] == ["slice"]


def test_slices_of_open_axes_are_merged_from_the_front() -> None:
    before = graph(
        """
        graph g(x: f32[N,2]) {
          const one: i64[1] = literal(1)
          const two: i64[1] = literal(2)
          const seven: i64[1] = literal(7)
          const three: i64[1] = literal(3)
          const zero: i64[1] = literal(0)
          a: f32[(max(min(7,N)-1,0)+1)//2,2] = slice(x, one, seven, zero, two)
          b: f32[max(min(3,(max(min(7,N)-1,0)+1)//2)-1,0),2] = slice(a, one, three, zero)
          return b
        }
        """
    )
    merged = RULES["merge_slices"]
    for n in range(10):
        x = np.arange(2 * n, dtype=np.float32).reshape(n, 2)
        sized = specialize(before, {"x": (n, 2)})
        made = apply_rules(sized, [merged], Log())
        assert_same_results(sized, made, {"x": x}, error=0)
    cut = merged_cut(symbol("N"), Cut(3, 9, 1), Cut(1, 4, 2))
    assert cut is not None
    assert all(list(cut.of(n)) == list(range(n)[3:9][1:4:2]) for n in range(12))


def test_rows_behind_a_transpose_are_columns_before_it() -> None:
    before = graph(
        """
        graph g(x: f32[50,60], w: f32[60,70]) {
          const zero: i64[1] = literal(0)
          const two: i64[1] = literal(2)
          p: f32[50,70] = matmul(x, w)
          t: f32[70,50] = transpose(p, perm=[1,0])
          y: f32[2,50] = slice(t, zero, two, zero)
          return y
        }
        """
    )
    made, _ = after("push_down_slices", before)
    assert [n.op for n in made.nodes] == ["slice", "matmul", "transpose"]
    assert made.nodes[0].tensor.static_shape == (60, 2)


def test_an_empty_part_beside_an_open_one_leaves_the_concat() -> None:
    """The result type alone implies that the open size is 3."""
    g = graph("""
    graph g(b: f32[N,M]) {
      const a: f32[0,3] = literal()
      y: f32[N,3] = concat(a, b, axis=0)
      z: f32[N,3] = relu(y)
      return y, z
    }
    """)
    made = PASSES["fold_split_concat"].run(g, Log())
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert_same_results(g, made, {"b": x}, error=0.0)
