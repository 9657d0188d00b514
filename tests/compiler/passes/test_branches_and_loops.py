"""Tests that moving nodes into and out of branches and loops preserves results."""

from __future__ import annotations

import random

import pytest

from compiler.ir.graph import Graph, all_nodes
from tests.compiler.passes.control_flow_runs import LOOP, done, ran, reasons, same
from tests.compiler.passes.numbers import graph

NAMES = ("sink_into_branches", "simplify_loops", "hoist_common_code", "if_conversion")


def branches(before: str, then: str, other: str, after: str = "", results: str = "y") -> Graph:
    return graph(
        f"""
        graph g(x: f32[2,3], w: f32[3,4], c: bool[]) {{
          {before}
          y: f32[2,4] = onnx.If(c, opset=16) {{
            then_branch: graph then() {{ {then} }}
            else_branch: graph otherwise() {{ {other} }}
          }}
          {after}
          return {results}
        }}
        """
    )


ZERO = "const zero: f32[2,4] = splat(0.0) return zero"
PRODUCT = "e: f32[2,3] = exp(x) m: f32[2,4] = matmul(e, w)"


def test_work_for_one_branch_moves_into_it_with_its_constants() -> None:
    g = branches(
        "const two: f32[3] = literal(2.0,3.0,4.0) e: f32[2,3] = mul(x, two)"
        " m: f32[2,4] = matmul(e, w)",
        "a: f32[2,4] = relu(m) return a",
        ZERO,
    )
    after, steps = ran(g, "sink_into_branches")
    assert done(steps) == ["sink_into_branches"] * 2
    assert [n.op for n in after.nodes] == ["onnx.If"]
    assert after.constants == {}
    assert "48 operations" in steps[0].because
    same(g, after)
    assert ran(after, "sink_into_branches")[0] is after


STAYS = {
    "read in both": (PRODUCT, "a: f32[2,4] = relu(m) return a", "b: f32[2,4] = neg(m) return b"),
    "read behind": (
        PRODUCT,
        "a: f32[2,4] = relu(m) return a",
        ZERO,
        "k: f32[2,4] = neg(m)",
        "k, y",
    ),
    "a result": (PRODUCT, "a: f32[2,4] = relu(m) return a", ZERO, "", "y, m"),
}


@pytest.mark.parametrize("parts", STAYS.values(), ids=list(STAYS))
def test_work_that_is_read_elsewhere_stays(parts: tuple[str, ...]) -> None:
    g = branches(*parts)
    assert ran(g, "sink_into_branches")[0] is g


def test_the_condition_is_computed_before_the_branches() -> None:
    g = graph(
        """
        graph g(x: f32[2,3]) {
          const limit: f32[] = literal(1.0)
          s: f32[1,1] = reduce_max(x, axes=[0,1])
          t: f32[] = reshape(s, none)
          const none: i64[0] = literal()
          c: bool[] = less(t, limit)
          y: f32[2,3] = onnx.If(c, opset=16) {
            then_branch: graph then() {
              a: f32[2,3] = add(x, t)
              return a
            }
            else_branch: graph otherwise() {
              b: f32[2,3] = neg(x)
              return b
            }
          }
          return y
        }
        """
    )
    assert ran(g, "sink_into_branches")[0] is g


def test_work_moves_through_branches_inside_branches() -> None:
    g = graph(
        """
        graph g(x: f32[2,3], c: bool[], d: bool[]) {
          e: f32[2,3] = exp(x)
          y: f32[2,3] = onnx.If(c, opset=16) {
            then_branch: graph then() {
              z: f32[2,3] = onnx.If(d, opset=16) {
                then_branch: graph inner() {
                  b: f32[2,3] = neg(e)
                  return b
                }
                else_branch: graph other() {
                  return x
                }
              }
              return z
            }
            else_branch: graph otherwise() {
              b: f32[2,3] = abs(x)
              return b
            }
          }
          return y
        }
        """
    )
    after, steps = ran(g, "sink_into_branches")
    inner = after.nodes[0].regions["then_branch"].producers["z"].regions["then_branch"]
    assert [n.op for n in inner.nodes] == ["exp", "neg"]
    assert done(steps) == ["sink_into_branches"] * 2
    same(g, after)


def test_what_has_no_code_is_not_called_inside_a_branch() -> None:
    g = branches(
        "d: f32[2,3] = onnx.Dropout(x, opset=13) m: f32[2,4] = matmul(d, w)",
        "a: f32[2,4] = relu(m) return a",
        ZERO,
    )
    after, steps = ran(g, "sink_into_branches")
    assert [n.op for n in after.nodes] == ["onnx.Dropout", "onnx.If"]
    assert "no generated code" in reasons(steps)[0]


def test_an_if_with_equal_branches_vanishes() -> None:
    g = branches(
        "",
        "const two: f32[] = literal(2.0) e: f32[2,4] = matmul(x, w) a: f32[2,4] = mul(e, two)"
        " return a",
        "const k: f32[] = literal(2.0) e: f32[2,4] = matmul(x, w) b: f32[2,4] = mul(e, k) return b",
    )
    after, steps = ran(g, "hoist_common_code")
    assert [n.op for n in after.nodes] == ["matmul", "mul"]
    assert done(steps) == ["take_out_of_branches"] * 2 + ["forward_result"]
    same(g, after)


ALMOST = {
    "another constant": (
        "const k: f32[] = literal(2.0) a: f32[2,3] = mul(x, k) b: f32[2,4] = matmul(a, w) return b",
        "const k: f32[] = literal(3.0) a: f32[2,3] = mul(x, k) b: f32[2,4] = matmul(a, w) return b",
    ),
    "the other order": (
        "a: f32[2,3] = sub(x, v) b: f32[2,4] = matmul(a, w) return b",
        "a: f32[2,3] = sub(v, x) b: f32[2,4] = matmul(a, w) return b",
    ),
    "another attribute": (
        "a: f32[2,3] = softmax(x, axis=0) b: f32[2,4] = matmul(a, w) return b",
        "a: f32[2,3] = softmax(x, axis=1) b: f32[2,4] = matmul(a, w) return b",
    ),
    "another signed zero": (
        "const k: f32[2,4] = splat(0.0) return k",
        "const k: f32[2,4] = splat(-0.0) return k",
    ),
}


@pytest.mark.parametrize(("then", "other"), ALMOST.values(), ids=list(ALMOST))
def test_branches_that_only_look_alike_stay(then: str, other: str) -> None:
    g = branches("v: f32[2,3] = exp(x)", then, other)
    assert ran(g, "hoist_common_code")[0] is g


def test_equal_constants_and_captured_values_need_no_branch() -> None:
    g = graph(
        """
        graph g(x: f32[2,3], c: bool[]) {
          p: f32[2], q: f32[2,3], r: f32[2,3], s: f32[2,3] = onnx.If(c, opset=16) {
            then_branch: graph then() {
              const k: f32[2] = literal(1.0,2.0)
              a: f32[2,3] = exp(x)
              b: f32[2,3] = abs(x)
              return k, x, a, b
            }
            else_branch: graph otherwise() {
              const m: f32[2] = literal(1.0,2.0)
              a: f32[2,3] = neg(x)
              return m, x, a, same=x
            }
          }
          return p, q, r
        }
        """
    )
    after, steps = ran(g, "hoist_common_code")
    assert sorted(done(steps)) == ["drop_result", "forward_result", "forward_result"]
    (choice,) = after.nodes
    assert choice.outputs == ("r",)
    same(g, after)


def test_cheap_branches_become_a_choice_between_results() -> None:
    g = graph(
        """
        graph g(x: f32[2,3], z: f32[3], d: bool[1]) {
          y: f32[2,3], k: f32[3] = onnx.If(d, opset=16) {
            then_branch: graph then() {
              a: f32[2,3] = div(x, x)
              return a, z
            }
            else_branch: graph otherwise() {
              const n: f32[3] = literal(1.0,2.0,3.0)
              a: f32[2,3] = log(x)
              return a, n
            }
          }
          return y, k
        }
        """
    )
    after, steps = ran(g, "if_conversion")
    assert done(steps) == ["if_conversion"]
    assert sorted(ops(after)) == ["div", "log", "squeeze", "where", "where"]
    same(g, after)


def ops(g: Graph) -> list[str]:
    return [n.op for n in all_nodes(g)]


DEAR = {
    "a product": ("", "a: f32[2,4] = matmul(x, w) return a", ZERO, "not elementwise"),
    "integers that may not be divided": (
        "const one: i64[2,4] = splat(1) v: f32[2,4] = matmul(x, w) k: i64[2,4] = cast(v, to=i64)",
        "a: i64[2,4] = div(one, k) b: f32[2,4] = cast(a, to=f32) return b",
        ZERO,
        "may trap",
    ),
}


@pytest.mark.parametrize(("before", "then", "other", "says"), DEAR.values(), ids=list(DEAR))
def test_branches_that_may_fail_or_cost_more_stay(
    before: str, then: str, other: str, says: str
) -> None:
    g = branches(before, then, other)
    after, steps = ran(g, "if_conversion")
    assert after is g
    assert says in reasons(steps)[0]


def test_large_branches_stay() -> None:
    g = graph(
        """
        graph g(x: f32[400,300], c: bool[]) {
          y: f32[400,300] = onnx.If(c, opset=16) {
            then_branch: graph then() { a: f32[400,300] = exp(x) return a }
            else_branch: graph otherwise() { a: f32[400,300] = neg(x) return a }
          }
          return y
        }
        """
    )
    after, steps = ran(g, "if_conversion")
    assert after is g
    assert "at least 48.0 us, branching costs 1.0 us" in reasons(steps)[0]


MIXED = """
graph g(x: f32[2,3], w: f32[3], n: i64[], c: bool[]) {
  const two: f32[] = literal(2.0)
  e: f32[2,3] = exp(x)
  f: f32[2,3] = neg(e)
  y: f32[2,3], k: f32[3], u: f32[2,3] = onnx.Loop(n, c, x, w, f, opset=16) {
    body: graph body(i: i64[], on: bool[], s: f32[2,3], t: f32[3], d: f32[2,3]) {
      const half: f32[] = literal(0.5)
      g: f32[2,3] = mul(s, d)
      h: f32[2,3], o: f32[3] = onnx.If(on, opset=16) {
        then_branch: graph then() {
          p: f32[2,3] = mul(s, half)
          q: f32[2,3] = add(p, g)
          return q, t
        }
        else_branch: graph otherwise() {
          p: f32[2,3] = mul(s, half)
          q: f32[2,3] = abs(p)
          return q, t
        }
      }
      v: f32[2,3] = identity(d)
      return on, h, o, v
    }
  }
  z: f32[2,3] = add(y, u)
  return z, k
}
"""


@pytest.mark.parametrize("seed", range(8))
def test_any_order_of_passes_keeps_the_numbers(seed: int) -> None:
    others = (
        "loop_invariant_code_motion",
        "dead_code_elimination",
        "simplify",
        "common_subexpression_elimination",
        "fold_constant_branches",
        "unroll_loops",
    )
    names = random.Random(seed).choices([*NAMES, *others], k=10)
    for text in (MIXED, LOOP):
        g = graph(text)
        after, _ = ran(g, *names)
        same(g, after)
