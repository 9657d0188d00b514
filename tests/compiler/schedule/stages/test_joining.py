"""Tests of kernels with several outputs: stages over the same points share loops, others do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import compiler
from compiler.compute.lower import lower_node
from compiler.ir.graph import Graph
from compiler.loops.nodes import Kernel, Loop, Store, walk_statements
from compiler.loops.verify import verify_kernel
from compiler.ops.fusion import fuse_nodes
from compiler.reference import reference
from compiler.schedule.policy import schedule
from compiler.targets.options import CodeOptions
from compiler.targets.target import by_name
from tests.compiler.passes.numbers import graph, random_inputs

CHAIN = """
graph g(x: f32[5,37], z: f32[37]) {
  a: f32[5,37] = exp(x)
  b: f32[5,37] = add(a, z)
  c: f32[5,37] = relu(b)
  return b, c, a
}
"""

SIBLINGS = """
graph g(x: f32[5,37], z: f32[5,37]) {
  a: f32[5,37] = mul(x, z)
  b: f32[5,37] = sub(x, z)
  c: f32[5,37] = greater(x, z)
  return a, b, c
}
"""

REDUCTIONS = """
graph g(x: f32[6,5,37]) {
  s: f32[6,5] = reduce_sum(x, axes=[2], keepdims=false)
  m: f32[6,5] = reduce_max(x, axes=[2], keepdims=false)
  h: f32[6,5] = neg(m)
  q: f32[6,5,37] = mul(x, x)
  v: f32[6,5] = reduce_mean(q, axes=[2], keepdims=false)
  return s, h, v
}
"""

OVER_ROWS = """
graph g(x: f32[19,40]) {
  s: f32[40] = reduce_sum(x, axes=[0], keepdims=false)
  m: f32[40] = reduce_min(x, axes=[0], keepdims=false)
  return s, m
}
"""

PRODUCT = """
graph g(x: f32[7,9], w: f32[9,33], r: f32[7,33]) {
  a: f32[7,33] = matmul(x, w)
  b: f32[7,33] = add(a, r)
  c: f32[7,33] = relu(b)
  return b, c
}
"""

CONVOLUTION = """
graph g(x: f32[1,3,9,8], r: f32[1,20,9,8]) {
  const w: f32[20,3,3,3] = splat(0.125)
  a: f32[1,20,9,8] = conv(x, w, strides=[1,1], pads=[1,1,1,1], dilations=[1,1])
  b: f32[1,20,9,8] = add(a, r)
  c: f32[1,20,9,8] = relu(b)
  return a, b, c
}
"""

HALVES = """
graph g(x: f16[5,37]) {
  a: f16[5,37] = exp(x)
  b: f16[5,37] = mul(a, a)
  c: f32[5,37] = cast(b, to=f32)
  return a, b, c
}
"""

SHARED = {
    "chain": CHAIN,
    "siblings": SIBLINGS,
    "reductions": REDUCTIONS,
    "over_rows": OVER_ROWS,
    "product": PRODUCT,
    "convolution": CONVOLUTION,
    "halves": HALVES,
}

AXES_DIFFER = """
graph g(x: f32[6,5,37]) {
  s: f32[6,5] = reduce_sum(x, axes=[2], keepdims=false)
  m: f32[6,37] = reduce_max(x, axes=[1], keepdims=false)
  return s, m
}
"""

BROADCAST = """
graph g(x: f32[1,37], z: f32[5,37]) {
  a: f32[1,37] = exp(x)
  b: f32[5,37] = add(a, z)
  return a, b
}
"""

OTHER_LANES = """
graph g(x: f32[5,37]) {
  a: f32[5,37] = exp(x)
  b: f64[5,37] = cast(a, to=f64)
  return a, b
}
"""

READ_ELSEWHERE = """
graph g(x: f32[7,7]) {
  a: f32[7,7] = exp(x)
  b: f32[7,7] = transpose(a, perm=[1,0])
  c: f32[7,7] = add(a, b)
  return a, c
}
"""

AFTER_ITS_SUM = """
graph g(x: f32[6,37]) {
  m: f32[6] = reduce_mean(x, axes=[1], keepdims=false)
  k: f32[6,1] = reduce_mean(x, axes=[1], keepdims=true)
  d: f32[6,37] = sub(x, k)
  q: f32[6,37] = mul(d, d)
  v: f32[6] = reduce_mean(q, axes=[1], keepdims=false)
  return m, v
}
"""

APART = {
    "axes_differ": AXES_DIFFER,
    "broadcast": BROADCAST,
    "other_lanes": OTHER_LANES,
    "read_elsewhere": READ_ELSEWHERE,
    "after_its_sum": AFTER_ITS_SUM,
}


def in_one(text: str) -> tuple[Graph, Graph]:
    """Return the graph, and the same graph with all its nodes in one fusion."""
    g = graph(text)
    fused = fuse_nodes(g, g.nodes, "group")
    return g, replace(g, nodes=(fused,))


def kernel_of(text: str, target: str = "x86-64-v4") -> Kernel:
    _, g = in_one(text)
    lowered = lower_node(g.nodes[0], g)
    assert lowered is not None
    made = schedule(lowered.computation, frozenset(), CodeOptions(by_name(target))).kernel
    verify_kernel(made)
    return made


def stores_together(kernel: Kernel) -> bool:
    """Return whether the body of some loop stores to all outputs."""
    outputs = {p.name for p in kernel.params if p.role == "output"}
    bodies = [s.body for s in walk_statements(kernel.body) if isinstance(s, Loop)]
    return any(
        outputs <= {s.buffer for s in body if isinstance(s, Store)}
        for body in [kernel.body, *bodies]
    )


@pytest.mark.parametrize("text", SHARED.values(), ids=list(SHARED))
@pytest.mark.parametrize("target", ["x86-64-v4", "x86-64-v3"])
def test_outputs_over_the_same_points_are_stored_in_one_loop(text: str, target: str) -> None:
    assert stores_together(kernel_of(text, target))


@pytest.mark.parametrize("text", APART.values(), ids=list(APART))
def test_outputs_over_other_points_have_loops_of_their_own(text: str) -> None:
    assert not stores_together(kernel_of(text))


@pytest.mark.parametrize("text", [*SHARED.values(), *APART.values()], ids=[*SHARED, *APART])
def test_compiled_outputs_are_those_of_the_reference(text: str) -> None:
    g, together = in_one(text)
    inputs = random_inputs(g)
    for pipeline in ("fuse{policy=none}", "assign_layout"):
        program = compiler.compile(together, pipeline=pipeline)
        assert all(k.native for k in program.kernels)
        for name, wanted in reference(g, inputs).items():
            found = program.run(inputs)[name]
            error = 2e-3 if wanted.dtype == np.float16 else 3e-5
            np.testing.assert_allclose(
                found.astype(np.float64), wanted.astype(np.float64), rtol=error, atol=error
            )


def test_a_long_value_is_loaded_again_instead_of_doubling_each_time() -> None:
    lines = "\n".join(f"  y{i}: f32[3,40] = mul(y{i - 1}, y{i - 1})" for i in range(1, 30))
    names = ", ".join(f"y{i}" for i in range(1, 30))
    text = f"graph g(y0: f32[3,40]) {{\n{lines}\n  return {names}\n}}"
    kernel = kernel_of(text)
    assert stores_together(kernel)
    assert len(str(kernel)) < 60_000
    g, together = in_one(text)
    inputs = {"y0": np.linspace(-1.02, 1.02, 120, dtype=np.float32).reshape(3, 40)}
    found = compiler.compile(together, pipeline="dead_code_elimination").run(inputs)
    for name, wanted in reference(g, inputs).items():
        np.testing.assert_allclose(found[name], wanted, rtol=1e-4)


OPEN = {
    "chain": CHAIN.replace("[5,37]", "[N,M]").replace("[37]", "[M]"),
    "siblings": SIBLINGS.replace("[5,37]", "[N,M]"),
    "reductions": REDUCTIONS.replace("6,5", "N,5").replace("37]", "M]"),
    "over_rows": OVER_ROWS.replace("[19,40]", "[N,M]").replace("[40]", "[M]"),
    "product": PRODUCT.replace("[7,", "[N,").replace(",33]", ",M]"),
}


@pytest.mark.parametrize("text", OPEN.values(), ids=list(OPEN))
def test_open_sizes_share_loops_too(text: str) -> None:
    g, together = in_one(text)
    program = compiler.compile(together, pipeline="dead_code_elimination")
    for n, m in ((3, 5), (1, 70), (20, 33)):
        inputs = {}
        for v in g.inputs:
            shape = [{"N": n, "M": m}.get(str(d), d) for d in v.type.dims]
            inputs[v.name] = np.random.default_rng(n).normal(size=shape).astype(np.float32)
        found = program.run(inputs)
        for name, wanted in reference(g, inputs).items():
            np.testing.assert_allclose(found[name], wanted, rtol=3e-5, atol=1e-5)
