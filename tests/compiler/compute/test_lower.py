"""Tests of lowering fused groups: inlined expressions where possible, and equal results."""

from __future__ import annotations

import re

import numpy as np
import pytest

import compiler.ops  # noqa: F401 - registers the operators
from compiler.compute.evaluate import evaluate
from compiler.compute.lower import Lowered, lower_node
from compiler.ir.graph import Graph, Node
from compiler.ir.operator import OPERATORS
from compiler.ir.text import parse_graph
from compiler.ir.verify import verify
from compiler.ops.fusion import fuse_nodes

CONV = "strides=[1,1], pads=[1,1,1,1], dilations=[1,1]"

RESIDUAL = f"""
graph g(x: f32[1,3,5,4], r: f32[1,6,5,4]) {{
  const w: f32[6,3,3,3] = splat(0.5)
  const b: f32[6] = literal(0.5,-1.0,2.0,0.0,1.0,-3.0)
  const s: f32[1,6,1,1] = splat(3.0)
  a: f32[1,6,5,4] = conv(x, w, b, {CONV})
  c: f32[1,6,5,4] = mul(a, s)
  d: f32[1,6,5,4] = add(r, c)
  y: f32[1,6,5,4] = relu(d)
  return y
}}"""

DIAMOND = """
graph g(x: f32[3,4]) {
  a: f32[3,4] = exp(x)
  b: f32[3,4] = sigmoid(a)
  c: f32[3,4] = mul(a, b)
  y: f32[3,4] = sub(c, x)
  return y
}"""

PRODUCER = """
graph g(x: f32[3,4], b: f32[4]) {
  a: f32[3,4] = mul(x, b)
  y: f32[3] = reduce_sum(a, axes=[1], keepdims=false)
  return y
}"""

TWO_READS_OF_A_SUM = """
graph g(x: f32[3,4]) {
  a: f32[3,1] = reduce_sum(x, axes=[1], keepdims=true)
  y: f32[3,1] = mul(a, a)
  return y
}"""


READ_BY_BOTH_FACTORS = f"""
graph g(x: f32[1,3,5,4]) {{
  const w: f32[6,3,3,3] = splat(0.5)
  const half: f32[] = literal(0.5)
  const low: f32[] = literal(-0.25)
  const high: f32[] = literal(1.5)
  a: f32[1,6,5,4] = conv(x, w, {CONV})
  c: f32[1,6,5,4] = add(a, half)
  d: f32[1,6,5,4] = clip(c, low, high)
  y: f32[1,6,5,4] = mul(a, d)
  return y
}}"""


def fused(text: str) -> tuple[Graph, Node, Lowered]:
    g = parse_graph(text)
    verify(g)
    node = fuse_nodes(g, g.nodes, "group")
    lowered = lower_node(node, g)
    assert lowered is not None
    return g, node, lowered


def reference(g: Graph, inputs: dict[str, np.ndarray]) -> np.ndarray:
    values = {**inputs, **{k: c.array() for k, c in g.constants.items()}}
    for n in g.nodes:
        fn = OPERATORS[n.op].reference_fn
        assert fn is not None
        values[n.output] = fn(*(values[i] for i in n.inputs), **n.attrs)
    return values[g.results[0].value]


@pytest.mark.parametrize(
    "text", [RESIDUAL, DIAMOND, PRODUCER, TWO_READS_OF_A_SUM, READ_BY_BOTH_FACTORS]
)
def test_a_fused_group_computes_what_its_nodes_do(text: str) -> None:
    g, _, lowered = fused(text)
    rng = np.random.default_rng(3)
    inputs = {
        v.name: rng.normal(size=v.type.static_shape).astype(np.float32)  # type: ignore[union-attr]
        for v in g.inputs
    }
    values = {**inputs, **{k: c.array() for k, c in g.constants.items()}}
    operands = {t: np.ascontiguousarray(values[v]) for t, v in lowered.operands.items()}
    (made,) = evaluate(lowered.computation, operands).values()
    np.testing.assert_allclose(made, reference(g, inputs), rtol=2e-6, atol=2e-6)


def test_bias_scale_residual_and_activation_stand_at_the_store_of_a_convolution() -> None:
    _, _, lowered = fused(RESIDUAL)
    (stage,) = lowered.computation.stages
    assert stage.reduce_axes == ("i", "ky", "kx")
    assert stage.axes == ("n", "o", "y", "x")
    assert set(lowered.operands.values()) == {"x", "w", "b", "r"}


def test_weights_that_are_one_number_stay_an_operand() -> None:
    _, _, lowered = fused(RESIDUAL)
    assert "W" in lowered.operands


def test_a_sum_read_twice_is_not_computed_twice() -> None:
    _, _, lowered = fused(TWO_READS_OF_A_SUM)
    n_sums = sum(s.reduce is not None for s in lowered.computation.stages)
    assert n_sums == 1


def test_a_sum_that_both_factors_of_a_product_are_made_of_ends_in_the_product() -> None:
    _, _, lowered = fused(READ_BY_BOTH_FACTORS)
    (stage,) = lowered.computation.stages
    assert stage.reduce_axes == ("i", "ky", "kx")


@pytest.mark.parametrize(
    ("shape", "axis", "n_exp"),
    [("3,64", 1, 1), ("8000,64", 1, 1), ("3,300000", 1, 2), ("3,8000", 0, 1), ("64,8000", 0, 2)],
)
def test_exponentials_read_twice_are_stored_while_a_row_lies_near(
    shape: str, axis: int, n_exp: int
) -> None:
    text = f"graph g(x: f32[{shape}]) {{ y: f32[{shape}] = softmax(x, axis={axis}) return y }}"
    g = parse_graph(text)
    lowered = lower_node(g.nodes[0], g)
    assert lowered is not None
    assert str(lowered.computation).count("decay(") == n_exp


def test_names_depend_on_structure_alone() -> None:
    _, _, first = fused(RESIDUAL)
    renamed = RESIDUAL
    for old, new in (("x", "image"), ("r", "rest"), ("w", "weights"), ("c", "scaled")):
        renamed = re.sub(rf"\b{old}\b(?!\w)", new, renamed)
    _, _, second = fused(renamed)
    assert str(first.computation) == str(second.computation)


def test_an_operator_without_lowering_lowers_to_nothing() -> None:
    g = parse_graph(
        """graph g(x: f32[4]) {
          y: i64[1,?n] = onnx.NonZero(x, opset=13)
          return y
        }""".replace("?n", "n")
    )
    assert lower_node(g.nodes[0], g) is None


def test_open_sizes_stay_symbols_with_names_of_their_own() -> None:
    g = parse_graph("graph g(x: f32[N,batch]) {\n y: f32[N,batch] = relu(x)\n return y\n}")
    made = lower_node(g.nodes[0], g)
    assert made is not None
    assert {k: str(e) for k, e in made.sizes.items()} == {"N": "N", "S_batch": "batch"}
    assert "for i<N, j<S_batch" in str(made.computation)


def test_open_ranks_lower_to_nothing() -> None:
    g = parse_graph("graph g(x: f32[...]) {\n y: f32[...] = relu(x)\n return y\n}")
    assert lower_node(g.nodes[0], g) is None
