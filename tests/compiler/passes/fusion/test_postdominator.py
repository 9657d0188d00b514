"""Tests of the policy `postdominator`: fusion at joins of paths, and refusals."""

from __future__ import annotations

import pytest

from compiler.ir.verify import verify
from compiler.passes import PASSES
from compiler.trace import Log
from tests.compiler.passes.numbers import assert_same_results, graph, random_inputs


def fuse(text: str, **options: object) -> tuple[list[str], Log]:
    """Return the kernels as `output: operators`."""
    g = graph(text)
    log = Log()
    after = PASSES["fuse"].run(g, log, policy="postdominator", **options)
    verify(after)
    assert_same_results(g, after, random_inputs(g), error=0)
    kernels = []
    for n in after.nodes:
        body = n.regions["body"].nodes if n.op == "fusion" else [n]
        kernels.append(f"{n.output}: {' '.join(i.op for i in body)}")
    return kernels, log


def why(log: Log, took: tuple[str, str]) -> str:
    """Return the reason why two nodes are in different kernels."""
    (reason,) = [s.because for s in log.steps if s.outcome == "declined" and s.took == took]
    return reason


def test_a_diamond_goes_where_its_sides_meet() -> None:
    kernels, _ = fuse(
        """
        graph g(x: f32[2,3], w: f32[3,5]) {
          a: f32[2,5] = matmul(x, w)
          s: f32[2,5] = sigmoid(a)
          t: f32[2,5] = tanh(a)
          m: f32[2,5] = mul(s, t)
          y: f32[2,5] = add(m, a)
          return y
        }
        """
    )
    assert kernels == ["y: matmul sigmoid tanh mul add"]


def test_a_side_that_leaves_keeps_the_diamond_apart() -> None:
    kernels, log = fuse(
        """
        graph g(x: f32[2,3], w: f32[3,5]) {
          a: f32[2,5] = matmul(x, w)
          s: f32[2,5] = sigmoid(a)
          t: f32[2,5] = tanh(a)
          m: f32[2,5] = mul(s, t)
          return m, s
        }
        """
    )
    assert kernels == ["a: matmul", "s: sigmoid", "m: tanh mul"]
    assert why(log, ("a", "s")) == "no node post-dominates a: its readers (s, t) never converge"
    assert why(log, ("s", "m")) == "s is also a result of the graph, so it has to be stored"


def test_an_opaque_node_on_a_path_keeps_all_of_it_apart() -> None:
    kernels, log = fuse(
        """
        graph g(x: f32[4,6]) {
          a: f32[4,6] = exp(x)
          s: f32[4,6] = softmax(a, axis=1)
          y: f32[4,6] = mul(s, a)
          return y
        }
        """
    )
    assert kernels == ["a: exp", "s: softmax", "y: mul"]
    expected = "softmax is opaque: its loops differ from those of its operands"
    assert why(log, ("a", "s")) == why(log, ("a", "y")) == why(log, ("s", "y")) == expected


def test_nothing_follows_a_reduction_and_what_is_before_goes_in() -> None:
    kernels, log = fuse(
        """
        graph g(x: f32[4,6], b: f32[6]) {
          a: f32[4,6] = add(x, b)
          e: f32[4,6] = exp(a)
          s: f32[4,1] = reduce_sum(e, axes=[1], keepdims=true)
          y: f32[4,1] = neg(s)
          return y
        }
        """
    )
    assert kernels == ["s: add exp reduce_sum", "y: neg"]
    assert why(log, ("s", "y")).startswith("reduction reduce_sum is not fused into its readers")


def test_movement_joins_elementwise_nodes_in_the_second_phase_but_no_reduction() -> None:
    kernels, log = fuse(
        """
        graph g(x: f32[4,6]) {
          a: f32[4,6] = exp(x)
          t: f32[6,4] = transpose(a, perm=[1,0])
          b: f32[6,4] = neg(t)
          u: f32[4,6] = transpose(b, perm=[1,0])
          s: f32[4] = reduce_max(u, axes=[1], keepdims=false)
          return s
        }
        """
    )
    assert kernels == ["u: exp transpose neg transpose", "s: reduce_max"]
    assert why(log, ("u", "s")) == "injective transpose and reduction reduce_max do not fuse"


def test_a_dear_value_is_not_computed_for_each_place_it_is_broadcast_to() -> None:
    text = """
        graph g(x: f32[1,6], z: f32[4,6]) {
          a: f32[1,6] = OP(x)
          y: f32[4,6] = add(a, z)
          return y
        }
        """
    assert fuse(text.replace("OP", "neg"))[0] == ["y: neg add"]
    kernels, log = fuse(text.replace("OP", "exp"))
    assert kernels == ["a: exp", "y: add"]
    assert (
        why(log, ("a", "y"))
        == "exp is expensive, and y would compute it for 24 elements instead of 6"
    )


def test_of_two_products_that_are_added_the_first_takes_the_sum() -> None:
    kernels, log = fuse(
        """
        graph g(x: f32[2,3], w: f32[3,5]) {
          a: f32[2,5] = matmul(x, w)
          b: f32[2,5] = matmul(x, w)
          y: f32[2,5] = add(a, b)
          return y
        }
        """
    )
    assert kernels == ["b: matmul", "y: matmul add"]
    reason = "y belongs to another out-elementwise-fusable kernel, and a kernel holds one such node"
    assert why(log, ("b", "y")) == reason


def test_a_product_keeps_its_shape() -> None:
    kernels, log = fuse(
        """
        graph g(x: f32[1,3], w: f32[3,5], r: f32[4,5]) {
          a: f32[1,5] = matmul(x, w)
          y: f32[4,5] = add(a, r)
          return y
        }
        """
    )
    assert kernels == ["a: matmul", "y: add"]
    assert why(log, ("a", "y")) == "the shapes differ: a is f32[1,5], y is f32[4,5]"


@pytest.mark.parametrize("op", ["max_pool", "average_pool"])
def test_a_pool_takes_what_follows_and_nothing_before(op: str) -> None:
    kernels, log = fuse(
        f"""
        graph g(x: f32[1,2,8,6]) {{
          a: f32[1,2,8,6] = neg(x)
          p: f32[1,2,4,3] = {op}(a, kernel=[2,2], strides=[2,2], pads=[0,0,0,0], dilations=[1,1])
          y: f32[1,2,4,3] = exp(p)
          return y
        }}
        """
    )
    assert kernels == ["a: neg", f"y: {op} exp"]
    assert why(log, ("a", "p")).startswith("elementwise neg and out-elementwise-fusable")
