"""Tests of constant folding: splats, shapes, budgets, and unfolded nodes."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from compiler.ir.constant import Constant
from compiler.ir.graph import Graph
from compiler.ir.types import tensor
from compiler.ir.verify import verify
from compiler.passes import PASSES
from compiler.trace import Log
from tests.compiler.passes.numbers import (
    applied,
    assert_same_results,
    declined,
    graph,
    random_inputs,
)


def fold(g: Graph, **options: object) -> tuple[Graph, Log]:
    log = Log()
    return PASSES["fold_constants"].run(g, log, **options), log


HUGE = """
graph g(x: f32[1,4096]) {
  const size: i64[2] = literal(25088,4096)
  const half: f32[] = literal(0.5)
  const rows: i64[1] = literal(0)
  const axes: i64[1] = literal(0)
  const some: i64[1] = literal(4096)
  const shape: i64[3] = literal(2,12544,4096)
  const twice: i64[2] = literal(2,1)
  w: f32[25088,4096] = fill(size, value=0.25)
  a: f32[25088,4096] = mul(w, half)
  b: f32[25088,4096] = exp(a)
  t: f32[4096,25088] = transpose(b, perm=[1,0])
  u: f32[25088,4096] = transpose(t, perm=[1,0])
  r: f32[2,12544,4096] = reshape(u, shape)
  f: f32[25088,4096] = flatten(r, axis=2)
  d: f32[50176,4096] = tile(f, twice)
  e: f32[100352,4096] = concat(d, d, axis=0)
  s: f32[4096,4096] = slice(e, rows, some, axes)
  y: f32[1,4096] = matmul(x, s)
  return y
}
"""


def test_splats_of_gigabytes_stay_one_number() -> None:
    g = graph(HUGE)
    tracemalloc.start()
    after, log = fold(g)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 8 << 20
    assert [n.op for n in after.nodes] == ["matmul"]
    weights = after.constants["s"]
    assert weights.is_splat
    assert weights.storage.read(weights.type)[0, 0] == pytest.approx(np.exp(0.125))
    assert set(applied(log.steps)) == {"fold_splat"}
    assert "4 bytes instead of 411,041,792" in log.steps[0].because


def test_a_folded_node_leaves_a_constant_of_its_name_with_all_origins() -> None:
    after, log = fold(
        graph(
            """
            graph g(x: f32[3]) {
              const a: f32[3] = literal(1.0,2.0,3.0) <- where, a, came, from
              b: f32[3] = neg(a) @ "the node" <- first
              y: f32[3] = mul(x, b) <- second
              return y, b
            }
            """
        )
    )
    b = after.constants["b"]
    assert b.array().tolist() == [-1, -2, -3]
    assert b.origins == ("where", "a", "came", "from", "first")
    assert [(r.name, r.value) for r in after.results] == [("y", "y"), ("b", "b")]
    assert after.nodes[0].origins == ("second",)
    (step,) = log.steps
    assert (step.took, step.made) == (("b", "a"), ("b",))


def test_shape_arithmetic_becomes_constants_where_sizes_are_known() -> None:
    text = """
    graph g(x: f32[%s,3,4]) {
      const at: i64[] = literal(%d)
      const rest: i64[1] = literal(-1)
      s: i64[3] = shape(x)
      one: i64[] = gather(s, at, axis=0)
      list: i64[1] = unsqueeze(one, axes=[0])
      to: i64[2] = concat(list, rest, axis=0)
      y: f32[%s] = reshape(x, to)
      return y
    }
    """
    after, log = fold(graph(text % ("N", 1, "3,(N*12)//3")))
    assert [n.op for n in after.nodes] == ["shape", "reshape"]
    assert after.constants["to"].array().tolist() == [3, -1]
    assert applied(log.steps) == ["known_shape", "fold_constants", "fold_constants"]
    open_, log = fold(graph(text % ("N", 0, "N,12")))
    assert [n.op for n in open_.nodes] == ["shape", "gather", "unsqueeze", "concat", "reshape"]
    assert applied(log.steps) == []


WEIGHTS = """
graph g(x: f32[64,64]) {
  const c: f32[64,1] = splat(1.0)
  const twice: i64[2] = literal(1,64)
  w: f32[64,64] = tile(c, twice)
  a: f32[64,64] = add(x, w)
  return a
}
"""


def with_column(g: Graph) -> Graph:
    column = Constant.of(np.arange(64, dtype=np.float32)[:, None])
    return Graph(g.name, g.inputs, g.results, g.nodes, {**g.constants, "c": column})


def test_growth_beyond_the_budget_is_declined_with_the_bytes() -> None:
    wide = Constant.of(np.arange(640, dtype=np.float32)[:, None])
    g = graph(WEIGHTS.replace("64,", "640,").replace(",64", ",640"))
    g = Graph(g.name, g.inputs, g.results, g.nodes, {**g.constants, "c": wide})
    after, log = fold(g)
    assert after is g
    (reason,) = declined(log.steps, "fold_constants")
    assert "would add 1,635,824 bytes" in reason
    assert "max_growth=1.1" in reason
    grown, _ = fold(g, max_growth=1000.0)
    assert [n.op for n in grown.nodes] == ["add"]
    assert_same_results(g, grown, random_inputs(g), error=0)


def test_a_little_growth_is_always_allowed() -> None:
    g = with_column(graph(WEIGHTS))
    after, _ = fold(g, max_growth=1.0)
    assert [n.op for n in after.nodes] == ["add"]
    assert_same_results(g, after, random_inputs(g), error=0)


def test_one_fold_may_not_store_more_than_it_is_given() -> None:
    g = with_column(graph(WEIGHTS))
    after, log = fold(g, max_bytes=16_383, max_growth=1000.0)
    assert after is g
    assert "would store 16,384 bytes; the limit for one fold is 16,383" in log.steps[0].because


def test_operands_that_nobody_needs_any_more_make_room() -> None:
    g = graph(
        """
        graph g(x: f32[300,400]) {
          const w: f32[400,300] = splat(0.0)
          t: f32[300,400] = transpose(w, perm=[1,0])
          y: f32[300,400] = add(x, t)
          return y
        }
        """
    )
    w = Constant.of(np.random.default_rng(0).normal(size=(400, 300)).astype(np.float32))
    g = Graph(g.name, g.inputs, g.results, g.nodes, {"w": w})
    after, _ = fold(g, max_growth=1.0)
    assert list(after.constants) == ["t"]
    kept = Graph(g.name, g.inputs, (*g.results, *g.results[:0]), g.nodes, g.constants)
    assert_same_results(kept, after, random_inputs(g), error=0)


def _cut_up(other: str) -> Graph:
    g = graph(f"""
    graph g(x: f32[1,20000], r: f32[2,20000]) {{
      const w: f32[2,20000] = splat(0.0)
      const zero: i64[1] = literal(0)
      const one: i64[1] = literal(1)
      const two: i64[1] = literal(2)
      a: f32[1,20000] = slice(w, zero, one, zero)
      b: f32[1,20000] = slice(w, one, two, zero)
      c: f32[1,20000] = add(x, a)
      d: f32[1,20000] = add(c, b)
      e: f32[2,20000] = {other}
      return d, e
    }}
    """)
    w = Constant.of(np.arange(40_000, dtype=np.float32).reshape(2, 20_000))
    return Graph(g.name, g.inputs, g.results, g.nodes, {**g.constants, "w": w})


def test_a_constant_of_which_all_readers_take_pieces_goes_piece_by_piece() -> None:
    after, log = fold(_cut_up("neg(r)"), max_growth=0.0)
    assert {"a", "b"} <= after.constants.keys()
    assert "w" not in after.constants
    assert after.constants["b"].array()[0, 0] == 20_000
    assert not [s for s in log.steps if s.outcome == "declined"]
    again, log = fold(_cut_up("add(r, w)"), max_growth=0.0)
    assert "w" in again.constants
    assert "would add 80,000 bytes" in next(s for s in log.steps if s.at == "a").because


def test_signs_of_zero_survive_in_splats() -> None:
    after, _ = fold(
        graph(
            """
            graph g(x: f32[2]) {
              const zero: f32[4] = splat(0.0)
              n: f32[4] = neg(zero)
              j: f32[8] = concat(zero, n, axis=0)
              return n, j
            }
            """
        )
    )
    assert after.constants["n"].is_splat
    assert np.signbit(after.constants["n"].array()).all()
    assert np.signbit(after.constants["j"].array()).tolist() == [False] * 4 + [True] * 4


def test_padding_a_splat_with_its_own_number_gives_a_splat() -> None:
    text = """
    graph g(x: f32[2]) {
      const w: f32[2,3] = splat(0.5)
      const pads: i64[4] = literal(1,0,0,2)
      const value: f32[] = literal(%s)
      p: f32[3,5] = pad(w, pads, value)
      return p
    }
    """
    same, other = fold(graph(text % "0.5"))[0], fold(graph(text % "0.0"))[0]
    assert same.constants["p"].is_splat
    assert not other.constants["p"].is_splat
    assert other.constants["p"].array().sum() == 3.0


def test_random_numbers_are_not_folded() -> None:
    text = """
    graph g(x: f32[2]) {
      const like: f32[2] = literal(1.0,2.0)
      r: f32[2] = onnx.RandomNormalLike(like, opset=1)
      y: f32[2] = add(x, r)
      return y
    }
    """
    g = graph(text)
    after, log = fold(g)
    assert after is g
    assert declined(log.steps, "fold_constants") == [
        "onnx.RandomNormalLike gives different results on each run"
    ]


def test_foreign_operators_are_folded_by_their_own_evaluation() -> None:
    after, _ = fold(
        graph(
            """
            graph g(x: f32[2,2]) {
              const m: f32[2,2] = literal(2.0,1.0,4.0,3.0)
              d: f32[] = onnx.Det(m, opset=22)
              y: f32[2,2] = mul(x, d)
              return y
            }
            """
        )
    )
    assert after.constants["d"].array() == pytest.approx(2.0)


def test_a_reference_that_refuses_its_operands_leaves_the_node_to_run_time() -> None:
    g = graph(
        """
        graph g(x: f32[3]) {
          const table: f32[3] = literal(1.0,2.0,3.0)
          const at: i64[2] = literal(1,7)
          p: f32[2] = gather(table, at, axis=0)
          return p
        }
        """
    )
    after, log = fold(g)
    assert after is g
    assert "rejected the operands" in declined(log.steps, "fold_constants")[0]


def test_results_that_repeat_one_number_become_splats() -> None:
    after, _ = fold(
        graph(
            """
            graph g(x: f32[2,20]) {
              const a: f32[2] = literal(1.0,2.0)
              const b: f32[2] = literal(4.0,2.0)
              const to: i64[2] = literal(2,20)
              p: f32[2] = mul(a, b)
              q: f32[2,1] = unsqueeze(p, axes=[1])
              r: f32[2,20] = expand(q, to)
              y: f32[2,20] = add(x, r)
              return y
            }
            """
        )
    )
    assert after.constants["r"] == Constant.splat(4.0, tensor("f32[2,20]")).with_origins(
        after.constants["r"].origins
    )


def test_every_result_of_a_folded_split_becomes_a_constant() -> None:
    after, _ = fold(
        graph(
            """
            graph g(x: f32[2,3]) {
              const w: f32[2,5] = literal(1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0,9.0,10.0)
              a: f32[2,2], b: f32[2,3] = split(w, axis=1, sizes=[2,3])
              y: f32[2,3] = add(x, b)
              return y, a
            }
            """
        )
    )
    assert after.constants["a"].array().tolist() == [[1, 2], [6, 7]]
    assert after.constants["b"].array().tolist() == [[3, 4, 5], [8, 9, 10]]


def test_types_that_a_folded_shape_decides_are_closed() -> None:
    g = graph("""
    graph g(x: f32[6,1]) {
      const c: f32[2,3] = literal(1.0,2.0,3.0,4.0,5.0,6.0)
      n: i64[] = size(c)
      s: i64[1] = unsqueeze(n, axes=[0])
      f: f32[s_d0] = fill(s, value=2.0)
      y: f32[6,s_d0] = mul(x, f)
      return y
    }
    """)
    after, _ = fold(g)
    assert after.types["f"] == tensor("f32[6]")
    assert after.types["y"] == tensor("f32[6,6]")
    verify(after)
    assert_same_results(g, after, random_inputs(g), error=0)
