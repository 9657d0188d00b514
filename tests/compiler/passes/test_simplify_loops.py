"""Tests of the removal of unchanged loop states, and of results without readers."""

from __future__ import annotations

from compiler.ir.verify import verify
from compiler.passes import PASSES
from compiler.trace import Log
from tests.compiler.passes.control_flow_runs import LOOP, done, ran, same
from tests.compiler.passes.numbers import graph


def test_states_that_stay_are_captured_and_unread_ones_go() -> None:
    g = graph(LOOP)
    after, steps = ran(g, "simplify_loops")
    assert sorted(done(steps)) == ["capture_state", "capture_state", "drop_state"]
    (loop,) = after.nodes
    assert loop.inputs == ("n", "c", "x")
    assert loop.outputs == ("y",)
    assert [r.value for r in after.results] == ["y", "w"]
    assert [n.op for n in loop.regions["body"].nodes] == ["mul", "add"]
    same(g, after)
    assert ran(after, "simplify_loops")[0] is after


def test_captured_constants_are_constants_inside() -> None:
    after, _ = ran(
        graph(LOOP.replace("two: f32[] = literal(2.0)", "two: f32[] = literal(1.0)")),
        "simplify_loops",
        "simplify",
    )
    assert [n.op for n in after.nodes[0].regions["body"].nodes] == ["add"]


def test_a_state_that_others_are_made_of_stays() -> None:
    g = graph(LOOP.replace("p: f32[2,3] = mul(s, f)", "p: f32[2,3] = mul(s, d)"))
    after, steps = ran(g, "simplify_loops")
    assert "drop_state" not in done(steps)
    assert after.nodes[0].inputs == ("n", "c", "x", "x")
    same(g, after)


def test_a_state_that_decides_when_to_stop_stays() -> None:
    g = graph(
        """
        graph g(x: f32[2,3], n: i64[], c: bool[]) {
          const one: f32[] = literal(1.0)
          y: f32[2,3], z: f32[] = onnx.Loop(n, c, x, one, opset=16) {
            body: graph body(i: i64[], on: bool[], s: f32[2,3], t: f32[]) {
              const limit: f32[] = literal(3.0)
              a: f32[] = add(t, t)
              more: bool[] = less(a, limit)
              q: f32[2,3] = exp(s)
              return more, q, a
            }
          }
          return y
        }
        """
    )
    assert ran(g, "simplify_loops")[0] is g


def test_states_that_are_exchanged_are_no_constants() -> None:
    g = graph(
        """
        graph g(x: f32[2,3], w: f32[2,3], n: i64[], c: bool[]) {
          y: f32[2,3], z: f32[2,3] = onnx.Loop(n, c, x, w, opset=16) {
            body: graph body(i: i64[], on: bool[], s: f32[2,3], t: f32[2,3]) {
              return on, t, s
            }
          }
          return y, z
        }
        """
    )
    assert ran(g, "simplify_loops")[0] is g


def test_a_loop_whose_results_all_are_initial_values_is_removed() -> None:
    g = graph(
        """
        graph g(x: f32[5,3], s: f32[3]) {
          y: f32[3] = onnx.Scan(s, x, num_scan_inputs=1, opset=16) {
            body: graph step(a: f32[3], b: f32[3]) {
              c: f32[3] = identity(a)
              return c
            }
          }
          z: f32[3] = exp(y)
          return z
        }
        """
    )
    after, _ = ran(g, "simplify_loops")
    assert [n.op for n in after.nodes] == ["exp"]
    assert after.nodes[0].inputs == ("s",)
    assert ran(after, "simplify_loops")[0] is after
    same(g, after)


def test_what_is_refused_stays_and_keeps_what_it_needs() -> None:
    g = graph(LOOP)
    log = Log(gate=lambda d: d.rule != "drop_state")
    after = PASSES["simplify_loops"].run(g, log)
    verify(after)
    assert after.nodes[0].inputs == ("n", "c", "x", "x")
    same(g, after)


def test_pieces_that_nobody_reads_take_their_attributes_along() -> None:
    g = graph(
        """
        graph g(x: f32[5,3], s: f32[3]) {
          y: f32[3], p: f32[5,3], q: f32[3,5], r: f32[5,3] = onnx.Scan(s, x, num_scan_inputs=1,
              scan_output_axes=[0,1,0], scan_output_directions=[0,0,1], opset=16) {
            body: graph step(a: f32[3], b: f32[3]) {
              c: f32[3] = add(a, b)
              d: f32[3] = exp(c)
              e: f32[3] = neg(c)
              f: f32[3] = abs(c)
              return c, d, e, f
            }
          }
          return q, r
        }
        """
    )
    after, steps = ran(g, "simplify_loops")
    assert done(steps) == ["drop_pieces"]
    (loop,) = after.nodes
    assert loop.attrs["scan_output_axes"] == (1, 0)
    assert loop.attrs["scan_output_directions"] == (0, 1)
    assert [n.op for n in loop.regions["body"].nodes] == ["add", "neg", "abs"]
    same(g, after)
