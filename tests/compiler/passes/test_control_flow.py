"""Tests of passes on branches and loops: effects inside regions, and unchanged graphs."""

from __future__ import annotations

import numpy as np

from compiler.ir.graph import Graph, all_nodes
from compiler.ir.text import parse_graph
from compiler.ir.verify import verify
from compiler.passes import PASSES
from compiler.reference import reference
from compiler.trace import Log, Step
from tests.compiler.passes.numbers import graph

X = np.array([[0.5, -1, 2], [1, 0.25, -0.5]], np.float32)


def ran(name: str, g: Graph) -> tuple[Graph, list[Step]]:
    log = Log()
    after = PASSES[name].run(g, log)
    verify(after)
    return after, log.steps


def ops(g: Graph) -> list[str]:
    return [n.op for n in all_nodes(g)]


NESTED = """
graph g(x: f32[2,3], c: bool[]) {
  const yes: bool[] = literal(true)
  y: f32[2,3] = onnx.If(c, opset=16) {
    then_branch: graph then() {
      a: f32[2,3] = exp(x)
      z: f32[2,3] = onnx.If(yes, opset=16) {
        then_branch: graph inner() {
          b: f32[2,3] = neg(a)
          return b
        }
        else_branch: graph other() {
          return a
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


def test_a_known_branch_is_taken_inside_one_that_is_not() -> None:
    g = graph(NESTED)
    after, steps = ran("fold_constant_branches", g)
    assert sorted(ops(after)) == ["abs", "exp", "neg", "onnx.If"]
    assert {s.outcome for s in steps} == {"applied", "declined"}
    for c in (True, False):
        inputs = {"x": X, "c": np.array(c)}
        np.testing.assert_array_equal(reference(after, inputs)["y"], reference(g, inputs)["y"])


TAKEN = """
graph g(x: f32[2,3]) {
  const yes: bool[] = literal(true)
  const more: f32[SIZE] = splat(1.0)
  y: f32[2,3] = onnx.If(yes, opset=16) {
    then_branch: graph then() {
      a: f32[2,3] = add(x, more)
      return a
    }
    else_branch: graph otherwise() {
      b: f32[2,3] = abs(x)
      return b
    }
  }
  return y
}
"""


def test_a_branch_that_fails_is_left_where_it_is() -> None:
    """The model has the error, not the pass: the program reports it at run time."""
    assert ops(PASSES["fold_constant_branches"].run(graph(TAKEN.replace("SIZE", "3")), Log())) == [
        "add"
    ]
    log = Log()
    after = PASSES["fold_constant_branches"].run(parse_graph(TAKEN.replace("SIZE", "5")), log)
    assert "onnx.If" in ops(after)
    assert "then_branch has invalid types when it is inlined" in log.steps[0].because


def test_passes_reach_into_regions_and_say_where() -> None:
    g = graph(NESTED.replace("b: f32[2,3] = abs(x)", "d: f32[2,3] = abs(x)  b: f32[2,3] = abs(d)"))
    after, steps = ran("simplify", g)
    assert ops(after).count("abs") == 1
    (step,) = (s for s in steps if s.outcome == "applied")
    assert step.because.startswith("in else_branch of y: ")


LOOP = """
graph g(x: f32[2,3]) {
  const n: i64[] = literal(STEPS)
  const w: f32[3] = literal(1.0,2.0,3.0)
  y: f32[2,3] = onnx.Loop(n, _, x, opset=16) {
    body: graph body(i: i64[], on: bool[], s: f32[2,3]) {
      const two: f32[] = literal(2.0)
      v: f32[3] = exp(w)
      u: f32[3] = mul(v, two)
      f: f32[] = cast(i, to=f32)
      t: f32[2,3] = mul(s, u)
      r: f32[2,3] = add(t, f)
      return on, r
    }
  }
  return y
}
"""


def test_what_depends_on_nothing_inside_leaves_with_its_constants() -> None:
    g = graph(LOOP.replace("STEPS", "4"))
    after, _ = ran("loop_invariant_code_motion", g)
    assert [n.op for n in after.nodes] == ["exp", "mul", "onnx.Loop"]
    assert [n.op for n in after.nodes[-1].regions["body"].nodes] == ["cast", "mul", "add"]
    np.testing.assert_allclose(reference(after, {"x": X})["y"], reference(g, {"x": X})["y"])


def test_a_long_loop_stays_and_a_short_one_is_written_out() -> None:
    long, steps = ran("unroll_loops", graph(LOOP.replace("STEPS", "9")))
    assert "onnx.Loop" in ops(long)
    assert "45 nodes" in steps[-1].because or "9 iterations of 5 nodes" in steps[-1].because
    g = graph(LOOP.replace("STEPS", "3"))
    short, _ = ran("unroll_loops", g)
    assert "onnx.Loop" not in ops(short)
    np.testing.assert_allclose(reference(short, {"x": X})["y"], reference(g, {"x": X})["y"])


def test_a_loop_that_may_end_early_is_not_written_out() -> None:
    text = LOOP.replace("STEPS", "3").replace(
        "return on, r",
        "k: f32[] = reduce_max(r, axes=[0,1], keepdims=false)"
        "  less: bool[] = less(k, two)  return less, r",
    )
    after, steps = ran("unroll_loops", graph(text))
    assert "onnx.Loop" in ops(after)
    assert "known only at run time" in steps[-1].because


def test_a_state_of_unknown_rank_is_not_written_out() -> None:
    g = graph("""
    graph g(x: f32[...]) {
      const n: i64[] = literal(2)
      const one: i64[1] = literal(1)
      const far: i64[1] = literal(9)
      y: f32[...], p: f32[2,a,b] = onnx.Loop(n, _, x, opset=16) {
        body: graph body(i: i64[], on: bool[], s: f32[...]) {
          part: f32[a,b] = onnx.Slice(s, one, far, opset=16)
          return on, s, part
        }
      }
      return p
    }
    """)
    after, steps = ran("unroll_loops", g)
    assert ops(after) == ops(g)
    assert steps[-1].because == "the loop has initial states of unknown rank"


def test_slices_that_grow_with_the_step_get_sizes() -> None:
    g = graph("""
    graph g(x: f32[4,3]) {
      const n: i64[] = literal(3)
      const one: i64[1] = literal(1)
      const zero: i64[1] = literal(0)
      const start: f32[3] = splat(0.0)
      y: f32[3] = onnx.Loop(n, _, start, opset=16) {
        body: graph body(i: i64[], on: bool[], s: f32[3]) {
          at: i64[1] = unsqueeze(i, axes=[0])
          end: i64[1] = add(at, one)
          part: f32[part_d0,3] = slice(x, zero, end, zero, one)
          sum: f32[3] = reduce_sum(part, axes=[0], keepdims=false)
          r: f32[3] = add(s, sum)
          return on, r
        }
      }
      return y
    }
    """)
    after, _ = ran("unroll_loops", g)
    assert [str(n.type) for n in after.nodes if n.op == "slice"] == [
        "f32[1,3]",
        "f32[2,3]",
        "f32[3,3]",
    ]
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    np.testing.assert_array_equal(reference(after, {"x": x})["y"], reference(g, {"x": x})["y"])
