"""Tests of the analysis that counts operations and bytes."""

from __future__ import annotations

from compiler.passes import PASSES
from compiler.trace import Log
from tests.compiler.passes.numbers import graph

PRODUCT = """
graph g(x: f32[2,3], y: f32[N,3]) {
  const w: f32[3,5] = splat(0.5)
  a: f32[2,5] = matmul(x, w)
  b: f32[2,5] = relu(a)
  c: f32[1,2,5] = unsqueeze(b, axes=[0])
  d: f32[N,3] = exp(y)
  return c, d
}
"""


def test_operations_and_bytes_are_counted_and_open_nodes_named() -> None:
    g = graph(PRODUCT)
    work = PASSES["cost_analysis"].facts(g)
    assert (work.n_nodes, work.n_kernels, work.n_open) == (4, 3, 1)
    # 2*5 products of 3 multiplications and additions, and 10 comparisons.
    assert work.flops == 2 * 2 * 5 * 3 + 10
    product, relu = 4 * (2 * 3 + 3 * 5 + 2 * 5), 4 * (10 + 10)
    assert work.bytes_moved >= product + relu
    assert work.constant_bytes == 4
    assert work.by_operator == {"matmul": 1, "relu": 1, "unsqueeze": 1, "exp": 1}


def test_the_finding_is_told_to_the_log_and_the_graph_stays() -> None:
    g = graph(PRODUCT)
    log = Log()
    assert PASSES["cost_analysis"].run(g, log) is g
    (step,) = log.steps
    assert "70 operations" in step.because
    assert "1 node has open sizes" in step.because


def test_what_is_inside_a_group_does_not_touch_memory() -> None:
    text = """
    graph g(x: f32[2,3], w: f32[3,5]) {
      a: f32[2,5] = matmul(x, w)
      b: f32[2,5] = relu(a)
      return b
    }
    """
    g = graph(text)
    before = PASSES["cost_analysis"].facts(g)
    after = PASSES["cost_analysis"].facts(PASSES["fuse"].run(g))
    assert after.flops == before.flops
    assert after.bytes_moved == before.bytes_moved - 2 * 4 * 10
    assert (before.n_kernels, after.n_kernels) == (2, 1)
