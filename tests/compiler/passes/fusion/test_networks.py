"""Tests of networks whose inner values have several readers, under every policy with layouts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import compiler
from compiler.ir.constant import Constant
from compiler.ir.graph import Graph
from compiler.passes import PASSES
from compiler.passes.fusion.policies import POLICIES
from compiler.reference import reference
from tests.compiler.passes.numbers import graph, random_inputs

CONV = "strides=[1,1], pads=[1,1,1,1], dilations=[1,1]"

PREACTIVATION = f"""
graph preactivation(x: f32[1,3,9,11]) {{
  const w0: f32[32,3,3,3] = splat(0.5)
  const w1: f32[32,32,3,3] = splat(0.5)
  const w2: f32[32,32,3,3] = splat(0.5)
  const w3: f32[20,32,1,1] = splat(0.5)
  c0: f32[1,32,9,11] = conv(x, w0, {CONV})
  r0: f32[1,32,9,11] = relu(c0)
  c1: f32[1,32,9,11] = conv(r0, w1, {CONV})
  s1: f32[1,32,9,11] = add(c1, c0)
  r1: f32[1,32,9,11] = relu(s1)
  c2: f32[1,32,9,11] = conv(r1, w2, {CONV})
  s2: f32[1,32,9,11] = add(c2, s1)
  g2: f32[1,32,9,11] = sigmoid(s2)
  c3: f32[1,20,9,11] = conv(g2, w3, strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
  m: f32[1,32,1,1] = reduce_mean(s2, axes=[2,3], keepdims=true)
  k: f32[1,32,1,1] = reduce_max(s2, axes=[2,3], keepdims=true)
  y: f32[1,32,1,1] = add(m, k)
  return c3, y, s1
}}
"""

GATES = """
graph gates(x: f32[5,24], h: f32[5,37], c: f32[5,37]) {
  const wi: f32[24,37] = splat(0.5)
  const wf: f32[24,37] = splat(0.5)
  const uh: f32[37,37] = splat(0.5)
  a: f32[5,37] = matmul(x, wi)
  b: f32[5,37] = matmul(h, uh)
  d: f32[5,37] = matmul(x, wf)
  i: f32[5,37] = add(a, b)
  g: f32[5,37] = sigmoid(i)
  f: f32[5,37] = tanh(d)
  kept: f32[5,37] = mul(g, c)
  new: f32[5,37] = mul(f, g)
  cell: f32[5,37] = add(kept, new)
  t: f32[5,37] = tanh(cell)
  out: f32[5,37] = mul(t, g)
  total: f32[5] = reduce_sum(out, axes=[1], keepdims=false)
  most: f32[5] = reduce_max(cell, axes=[1], keepdims=false)
  return out, cell, total, most
}
"""


def with_weights(text: str) -> Graph:
    """Return the network with random numbers as weights."""
    g, chance = graph(text), np.random.default_rng(3)
    weights = {
        name: Constant.of((chance.normal(size=c.type.static_shape) / 6).astype(np.float32))
        for name, c in g.constants.items()
    }
    return replace(g, constants=weights)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("text", [PREACTIVATION, GATES], ids=["preactivation", "gates"])
def test_networks_compute_the_same_under_every_policy(text: str, policy: str) -> None:
    g = with_weights(text)
    program = compiler.compile(
        g, pipeline=f"fuse{{policy={policy}}},assign_layout,fuse_data_movement"
    )
    assert all(k.native for k in program.kernels)
    for seed in (0, 1):
        inputs = random_inputs(g, seed)
        found = program.run(inputs)
        for name, wanted in reference(g, inputs).items():
            np.testing.assert_allclose(found[name], wanted, rtol=1e-4, atol=1e-4, err_msg=name)


@pytest.mark.parametrize("policy", ["xla", "greedy"])
@pytest.mark.parametrize(("text", "n_less"), [(PREACTIVATION, 2), (GATES, 1)])
def test_several_outputs_save_kernels(text: str, n_less: int, policy: str) -> None:
    g = with_weights(text)
    found = {}
    for p in ("anchor", policy):
        program = compiler.compile(g, pipeline=f"fuse{{policy={p}}}")
        found[p] = len(program.kernels)
    assert found[policy] <= found["anchor"] - n_less


LOOP = """
graph loop(a0: f32[5,37], b0: f32[5,37]) {
  const n: i64[] = literal(4)
  const go: bool[] = literal(true)
  a: f32[5,37], b: f32[5,37], s: f32[4,5,37] = onnx.Loop(n, go, a0, b0, opset=18) {
    body: graph body(i: i64[], c: bool[], x: f32[5,37], y: f32[5,37]) {
      const half: f32[] = literal(0.5)
      p: f32[5,37] = mul(x, half)
      q: f32[5,37] = add(p, y)
      r: f32[5,37] = tanh(q)
      t: f32[5,37] = sub(r, x)
      return c, r, q, t
    }
  }
  return a, b, s
}
"""


@pytest.mark.parametrize("policy", ["xla", "greedy"])
def test_a_step_of_a_loop_stores_all_its_states_in_one_kernel(policy: str) -> None:
    g = graph(LOOP)
    after = PASSES["fuse"].run(g, policy=policy)
    (step,) = after.nodes[0].regions["body"].nodes
    assert step.outputs == ("q", "r", "t")
    program = compiler.compile(after, pipeline="dead_code_elimination")
    assert all(k.native for k in program.kernels)
    inputs = random_inputs(g)
    found = program.run(inputs)
    for name, wanted in reference(g, inputs).items():
        np.testing.assert_allclose(found[name], wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("policy", ["xla", "greedy", "postdominator"])
def test_one_program_for_all_sizes(policy: str) -> None:
    """Batch and length are open; kernels with several outputs read these sizes at run time."""
    g = with_weights(GATES.replace("[5", "[N"))
    program = compiler.compile(g, pipeline=f"fuse{{policy={policy}}},assign_layout")
    for n in (1, 5, 18):
        chance = np.random.default_rng(n)
        inputs = {
            "x": chance.normal(size=(n, 24)).astype(np.float32),
            "h": chance.normal(size=(n, 37)).astype(np.float32),
            "c": chance.normal(size=(n, 37)).astype(np.float32),
        }
        found = program.run(inputs)
        for name, wanted in reference(g, inputs).items():
            np.testing.assert_allclose(found[name], wanted, rtol=1e-4, atol=1e-4)
