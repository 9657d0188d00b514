"""Tests of kernels with several outputs: groups that policies form, and near misses."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.ir.verify import verify
from compiler.passes import PASSES
from compiler.reference import reference
from compiler.trace import Log
from tests.compiler.passes.numbers import assert_same_results, graph, random_inputs

both = pytest.mark.parametrize("policy", ["xla", "greedy"])


def fuse(text: str, policy: str) -> tuple[list[str], Log]:
    """Return the kernels as `outputs: operators`, after a check of their results."""
    g = graph(text)
    log = Log()
    after = PASSES["fuse"].run(g, log, policy=policy)
    verify(after)
    inputs = random_inputs(g)
    assert_same_results(g, after, inputs, error=0)
    program = compiler.compile(g, pipeline=f"fuse{{policy={policy}}},assign_layout")
    assert all(k.native for k in program.kernels)
    found = program.run(inputs)
    for name, wanted in reference(g, inputs).items():
        np.testing.assert_allclose(found[name], wanted, rtol=3e-5, atol=3e-5)
    kernels = []
    for n in after.nodes:
        body = n.regions["body"].nodes if n.op == "fusion" else [n]
        kernels.append(f"{' '.join(n.outputs)}: {' '.join(i.op for i in body)}")
    return kernels, log


def why(log: Log, took: tuple[str, str]) -> str:
    """Return the reason why two nodes are in different kernels."""
    (reason,) = [s.because for s in log.steps if s.outcome == "declined" and s.took == took]
    return reason


@both
def test_a_value_that_is_a_result_too_is_stored_on_the_way(policy: str) -> None:
    kernels, log = fuse(
        """
        graph g(x: f32[4,37]) {
          a: f32[4,37] = exp(x)
          b: f32[4,37] = relu(a)
          c: f32[4,37] = neg(b)
          return c, a
        }
        """,
        policy,
    )
    assert kernels == ["a c: exp relu neg"]
    (step,) = [s for s in log.steps if s.rule == "fuse"]
    assert step.because.startswith("3 nodes in one kernel (exp, relu, neg), 2 results; ")
    assert (step.took, step.made) == (("a", "b", "c"), ("a",))


@both
def test_before_an_activation_a_product_stores_what_others_read(policy: str) -> None:
    kernels, _ = fuse(
        """
        graph g(x: f32[4,9], w: f32[9,37], r: f32[4,37]) {
          a: f32[4,37] = matmul(x, w)
          b: f32[4,37] = add(a, r)
          c: f32[4,37] = relu(b)
          t: f32[37,4] = transpose(b, perm=[1,0])
          return c, t
        }
        """,
        policy,
    )
    assert kernels == ["b c: matmul add relu", "t: transpose"]


@both
def test_two_sums_of_one_operand_are_one_walk_over_it(policy: str) -> None:
    kernels, _ = fuse(
        """
        graph g(x: f32[5,6,37]) {
          s: f32[5,6] = reduce_sum(x, axes=[2], keepdims=false)
          q: f32[5,6,37] = mul(x, x)
          v: f32[5,6] = reduce_mean(q, axes=[2], keepdims=false)
          return s, v
        }
        """,
        policy,
    )
    assert kernels == ["s v: reduce_sum mul reduce_mean"]


@both
def test_sums_over_other_axes_are_walks_of_their_own(policy: str) -> None:
    kernels, _ = fuse(
        """
        graph g(x: f32[5,5,37]) {
          s: f32[5,37] = reduce_sum(x, axes=[0], keepdims=false)
          m: f32[5,37] = reduce_max(x, axes=[1], keepdims=false)
          k: f32[5,1,37] = reduce_min(x, axes=[1], keepdims=true)
          return s, m, k
        }
        """,
        policy,
    )
    assert kernels == ["s: reduce_sum", "m: reduce_max", "k: reduce_min"]


@both
def test_sums_of_operands_of_other_lengths_are_apart(policy: str) -> None:
    kernels, _ = fuse(
        """
        graph g(x: f32[5,37], w: f32[37,8]) {
          p: f32[5,8] = matmul(x, w)
          c: f32[5] = reduce_sum(p, axes=[1], keepdims=false)
          s: f32[5] = reduce_sum(x, axes=[1], keepdims=false)
          return c, s
        }
        """,
        policy,
    )
    assert "c: reduce_sum" in kernels
    assert "s: reduce_sum" in kernels


@both
def test_a_path_through_another_kernel_keeps_two_apart(policy: str) -> None:
    kernels, log = fuse(
        """
        graph g(x: f32[7,7], z: f32[7,7]) {
          a: f32[7,7] = exp(x)
          p: f32[7,7] = matmul(a, z)
          y: f32[7,7] = add(p, a)
          t: f32[7,7] = transpose(a, perm=[1,0])
          u: f32[7,7] = mul(t, a)
          return y, u
        }
        """,
        policy,
    )
    assert kernels == ["a: exp", "y: matmul add", "t: transpose", "u: mul"]
    assert why(log, ("a", "u")).startswith("fusion would create a cycle: a -> t -> u")


@both
def test_a_broadcast_value_has_points_of_its_own(policy: str) -> None:
    kernels, log = fuse(
        """
        graph g(x: f32[1,37], z: f32[5,37]) {
          a: f32[1,37] = exp(x)
          b: f32[5,37] = add(a, z)
          return a, b
        }
        """,
        policy,
    )
    assert kernels == ["a: exp", "b: add"]
    reason = "the shapes differ: a is f32[1,37], b is f32[5,37]"
    assert why(log, ("a", "b")).startswith(reason)


@both
def test_elements_of_other_sizes_do_not_share_vectors(policy: str) -> None:
    kernels, log = fuse(
        """
        graph g(x: f32[5,37]) {
          a: f32[5,37] = exp(x)
          b: f64[5,37] = cast(a, to=f64)
          return a, b
        }
        """,
        policy,
    )
    assert kernels == ["a: exp", "b: cast"]
    assert "the element types differ in size: f32[5,37] and f64[5,37]" in why(log, ("a", "b"))


@both
def test_what_a_sum_reads_and_others_too_is_stored_by_loops_of_its_own(policy: str) -> None:
    kernels, log = fuse(
        """
        graph g(x: f32[5,37]) {
          a: f32[5,37] = exp(x)
          s: f32[5] = reduce_sum(a, axes=[1], keepdims=false)
          return a, s
        }
        """,
        policy,
    )
    assert kernels == ["a: exp", "s: reduce_sum"]
    reason = "a is also a result of the graph, and reduce_sum stores only f32[5]"
    assert why(log, ("a", "s")).startswith(reason)


def test_a_cheap_producer_goes_into_each_reader_a_dear_one_into_none() -> None:
    text = """
        graph g(x: f32[6,37]) {
          a: f32[6,37] = OP(x)
          s: f32[6] = reduce_sum(a, axes=[1], keepdims=false)
          m: f32[37] = reduce_max(a, axes=[0], keepdims=false)
          return s, m
        }
        """
    kernels, log = fuse(text.replace("OP", "neg"), "xla")
    assert kernels == ["s: neg reduce_sum", "m: neg reduce_max"]
    (copied,) = [s for s in log.steps if s.rule == "copy_cheap_producer"]
    assert copied.because.endswith("traffic, and repeats 222 operations")
    kernels, log = fuse(text.replace("OP", "exp"), "xla")
    assert kernels == ["a: exp", "s: reduce_sum", "m: reduce_max"]
    assert "exp is expensive: computing a in each of s, m repeats" in why(log, ("a", "s"))
    kernels, log = fuse(text.replace("OP", "neg"), "greedy")
    assert kernels == ["a: neg", "s: reduce_sum", "m: reduce_max"]
    assert why(log, ("a", "s")) == "a has other readers (m), and reduce_sum stores only f32[6]"


def test_copies_that_are_refused_are_not_made() -> None:
    g = graph(
        """
        graph g(x: f32[6,37]) {
          a: f32[6,37] = neg(x)
          s: f32[6] = reduce_sum(a, axes=[1], keepdims=false)
          m: f32[37] = reduce_max(a, axes=[0], keepdims=false)
          return s, m
        }
        """
    )
    log = Log(gate=lambda decision: decision.rule != "copy_cheap_producer")
    assert PASSES["fuse"].run(g, log, policy="xla") is g
    assert "disabled" in why(log, ("a", "s"))
    assert PASSES["fuse"].run(g, Log(), policy="xla", duplicate=False) is g


@pytest.mark.parametrize("policy", ["xla", "greedy", "postdominator", "anchor", "elementwise"])
def test_a_group_keeps_to_the_limit(policy: str) -> None:
    lines = "\n".join(f"  y{i}: f32[3,40] = relu(y{i - 1})" for i in range(1, 21))
    g = graph(f"graph g(y0: f32[3,40]) {{\n{lines}\n  return y20\n}}")
    log = Log()
    after = PASSES["fuse"].run(g, log, policy=policy, max_nodes=8)
    sizes = [len(n.regions["body"].nodes) if n.op == "fusion" else 1 for n in after.nodes]
    assert sum(sizes) == 20
    assert max(sizes) <= 8
    assert all("nodes" in s.because for s in log.steps if s.outcome == "declined")


@pytest.mark.parametrize("policy", ["xla", "greedy"])
def test_a_value_with_very_many_readers_is_stored_and_says_so(policy: str) -> None:
    lines = "\n".join(f"y{i}: f32[3,40] = add(a, x)" for i in range(70))
    names = ", ".join(f"y{i}" for i in range(70))
    g = graph(f"graph g(x: f32[3,40]) {{\na: f32[3,40] = exp(x)\n{lines}\nreturn {names}\n}}")
    log = Log()
    after = PASSES["fuse"].run(g, log, policy=policy)
    verify(after)
    assert after.producers["a"].op == "exp"
    assert why(log, ("a", "y3")) == "a has more than 64 readers, so it is stored"
