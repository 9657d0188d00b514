"""Tests of dead code elimination and common subexpression elimination."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.ir.constant import Constant
from compiler.ir.graph import Graph
from compiler.passes import PASSES
from compiler.trace import Log
from tests.compiler.passes.numbers import (
    applied,
    assert_same_results,
    declined,
    graph,
    random_inputs,
)


def run(name: str, g: Graph) -> tuple[Graph, Log]:
    log = Log()
    return PASSES[name].run(g, log), log


def test_unused_inputs_stay() -> None:
    after, _ = run(
        "dead_code_elimination",
        graph("graph g(x: f32[3], y: f32[3]) { a: f32[3] = relu(y) return x }"),
    )
    assert [v.name for v in after.inputs] == ["x", "y"]
    assert after.nodes == ()


def test_a_node_with_one_output_that_is_read_is_alive() -> None:
    g = graph(
        """
        graph g(x: f32[5]) {
          a: f32[2], b: f32[3] = split(x, axis=0, sizes=[2,3])
          return b
        }
        """
    )
    assert run("dead_code_elimination", g)[0] is g


def test_what_a_region_captures_is_alive() -> None:
    g = graph(
        """
        graph g(c: bool[], x: f32[3]) {
          a: f32[3] = relu(x)
          b: f32[3] = exp(x)
          dead: f32[3] = neg(b)
          y: f32[3] = onnx.If(c, opset=21) {
            then_branch: graph then() {
              p: f32[3] = abs(a)
              return p
            }
            else_branch: graph else() {
              q: f32[3] = neg(b)
              return q
            }
          }
          return y
        }
        """
    )
    after, log = run("dead_code_elimination", g)
    assert [n.output for n in after.nodes] == ["a", "b", "y"]
    assert [s.at for s in log.steps] == ["dead"]


def test_dead_steps_say_what_is_saved() -> None:
    g = graph(
        """
        graph g(x: f32[2,3]) {
          const w: f32[3] = literal(1.0,2.0,3.0)
          a: f32[2,3] = mul(x, w)
          b: f32[2,3] = exp(a)
          return x
        }
        """
    )
    _, log = run("dead_code_elimination", g)
    assert [(s.at, s.because) for s in log.steps] == [
        ("b", "it has no readers; saves 24 bytes of writes"),
        ("a", "its reader is dead too; saves 24 bytes of writes"),
        ("w", "no node reads this constant of 12 bytes"),
    ]


def test_equal_nodes_are_merged_with_their_origins_and_results_keep_their_names() -> None:
    g = graph(
        """
        graph g(x: f32[3], y: f32[3]) {
          a: f32[3] = mul(x, y) <- one
          b: f32[3] = mul(y, x) <- two
          return first=a, second=b
        }
        """
    )
    after, log = run("common_subexpression_elimination", g)
    assert [(r.name, r.value) for r in after.results] == [("first", "a"), ("second", "a")]
    assert after.nodes[0].origins == ("one", "two")
    (step,) = log.steps
    assert (step.took, step.made) == (("a", "b"), ("a",))
    assert_same_results(g, after, random_inputs(g), error=0)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("sub(x, y)", "sub(y, x)"),
        ("leaky_relu(x, alpha=0.5)", "leaky_relu(x, alpha=0.25)"),
        ("clip(x, _, l)", "clip(x, l)"),
        ("fill(n, value=0.0)", "fill(n, value=-0.0)"),
        ("relu(x)", "abs(x)"),
    ],
)
def test_nodes_that_differ_in_anything_are_kept(a: str, b: str) -> None:
    g = graph(
        f"""
        graph g(x: f32[3], y: f32[3]) {{
          const l: f32[] = literal(0.5)
          const n: i64[1] = literal(3)
          a: f32[3] = {a}
          b: f32[3] = {b}
          c: f32[3] = sub(a, b)
          return c
        }}
        """
    )
    assert run("common_subexpression_elimination", g)[0] is g


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        ("f32[2] = literal(1.0,2.0)", "f32[2] = literal(1.0,2.0)", True),
        ("f32[2] = literal(0.0,2.0)", "f32[2] = literal(-0.0,2.0)", False),
        ("f32[2] = splat(0.0)", "f32[2] = splat(-0.0)", False),
        ("f32[2] = splat(nan)", "f32[2] = splat(nan)", True),
        ("f32[2] = literal(0.0,0.0)", "i32[2] = literal(0,0)", False),
        ("f32[2] = literal(1.0,2.0)", "f32[2,1] = literal(1.0,2.0)", False),
    ],
)
def test_constants_are_merged_when_every_bit_is_equal(a: str, b: str, equal: bool) -> None:
    g = graph(f"graph g() {{ const a: {a} const b: {b} return a, b }}")
    after, log = run("common_subexpression_elimination", g)
    assert len(after.constants) == (1 if equal else 2)
    assert applied(log.steps) == (["merge_constants"] if equal else [])


def test_large_constants_are_compared_element_by_element() -> None:
    w = np.random.default_rng(0).normal(size=(50, 60)).astype(np.float32)
    other = w.copy()
    other[13, 17] += 1
    g = graph("graph g(x: f32[3]) { return x }")
    results = tuple(type(g.results[0])(k, k) for k in "abc")
    constants = {"a": Constant.of(w), "b": Constant.of(other), "c": Constant.of(w.copy())}
    g = Graph("g", g.inputs, results, (), constants)
    after, _ = run("common_subexpression_elimination", g)
    assert [r.value for r in after.results] == ["a", "b", "a"]


def test_random_numbers_are_not_merged() -> None:
    g = graph(
        """
        graph g(x: f32[3]) {
          a: f32[3] = onnx.RandomUniformLike(x, opset=1)
          b: f32[3] = onnx.RandomUniformLike(x, opset=1)
          c: f32[3] = sub(a, b)
          return c
        }
        """
    )
    after, log = run("common_subexpression_elimination", g)
    assert after is g
    assert len(declined(log.steps, "common_subexpression_elimination")) == 2


def test_nodes_that_leave_out_different_outputs_are_kept() -> None:
    g = graph(
        """
        graph g(x: f32[6]) {
          a: f32[3], _: f32[3] = split(x, axis=0, sizes=[3,3])
          _: f32[3], b: f32[3] = split(x, axis=0, sizes=[3,3])
          c: f32[3], _: f32[3] = split(x, axis=0, sizes=[3,3])
          d: f32[3] = sub(a, b)
          e: f32[3] = mul(d, c)
          return e
        }
        """
    )
    after, log = run("common_subexpression_elimination", g)
    assert [s.at for s in log.steps] == ["c"]
    assert_same_results(g, after, random_inputs(g), error=0)
