"""Tests of `assign_layout`: minimal cost, correct programs, and reasons for all choices."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import compiler
from compiler.ir.graph import Graph
from compiler.ir.types import TensorType
from compiler.ir.verify import verify
from compiler.passes import PASSES
from compiler.passes.layout.costs import copy_cost
from compiler.passes.layout.place import laid
from compiler.passes.layout.problem import LABELS, Problem
from compiler.reference import reference
from compiler.trace import Log
from tests.compiler.passes.numbers import graph, random_inputs

ASSIGN = PASSES["assign_layout"]

CHANNELS = 32


def random_network(rng: random.Random, n: int) -> Graph:
    """Return a chain of kernels with side branches, over images of one size."""
    t = f"f32[1,{CHANNELS},9,7]"
    lines = [f"graph g(x: {t}) {{", f"  const w: f32[{CHANNELS},{CHANNELS},3,3] = splat(0.0078125)"]
    lines.append(f"  const d: f32[{CHANNELS},1,3,3] = splat(0.125)")
    window = "strides=[1,1], pads=[1,1,1,1], dilations=[1,1]"
    values = ["x"]
    for i in range(n):
        a, b = values[-1], rng.choice(values)
        call = rng.choice(
            [
                f"conv({a}, w, {window})",
                f"conv({a}, w, {window})",
                f"conv({b}, d, {window}, groups={CHANNELS})",
                f"add({a}, {b})",
                f"relu({b})",
                f"softmax({a}, axis=3)",
                f"max_pool({a}, kernel=[3,3], {window})",
            ]
        )
        lines.append(f"  v{i}: {t} = {call}")
        values.append(f"v{i}")
    results = ", ".join(dict.fromkeys([values[-1], rng.choice(values[1:])]))
    return graph("\n".join([*lines, f"  return {results}", "}"]))


def cost_of_choice(problem: Problem, chosen: tuple[int, ...]) -> int:
    """Return the cost of a choice when applied: kernels, and the inserted copies."""
    total = sum(problem.kernel_cost(i, label) for i, label in enumerate(chosen))
    for value in problem.images:
        found = laid(problem, value, chosen)
        copies = {(c.block, bool(c.halo)) for c in found.copies}
        is_result = value in problem.graph.result_values
        if is_result and not found.own.is_plain:
            copies.add((1, False))
        n_bytes = problem.n_bytes[value]
        for block, _ in copies:
            laid_bytes = n_bytes * -(-CHANNELS // block) * block // CHANNELS
            total += copy_cost(n_bytes, laid_bytes)
    return total


@pytest.mark.parametrize("seed", range(25))
def test_no_choice_of_layouts_costs_less(seed: int) -> None:
    g = random_network(random.Random(seed), 7)
    problem = Problem(g, 16, LABELS["blocked"])
    energy = problem.energy()
    best = energy.of(energy.best(LABELS["blocked"]))
    every = list(itertools.product(*energy.kernels))
    carried_out = {c: cost_of_choice(problem, c) for c in every}
    constant = {carried_out[c] - energy.of(c) for c in every}
    assert len(constant) == 1, "energy and applied cost differ by a constant"
    assert best + constant.pop() == min(carried_out.values())


@pytest.mark.parametrize("layouts", ["plain", "blocked", "last", "all"])
@pytest.mark.parametrize("seed", range(4))
def test_programs_are_right_in_every_layout(seed: int, layouts: str) -> None:
    g = random_network(random.Random(100 + seed), 9)
    inputs = random_inputs(g, seed)
    program = compiler.compile(g, pipeline=f"assign_layout{{layouts={layouts}}}")
    for name, expected in reference(g, inputs).items():
        scale = float(np.abs(expected).max())
        np.testing.assert_allclose(program.run(inputs)[name], expected, atol=2e-5 * scale)


ODD = """
graph g(x: f32[2,19,8,11]) {
  const w: f32[21,19,3,3] = splat(0.0625)
  const v: f32[40,21,1,1] = splat(0.125)
  const d: f32[40,1,3,3] = splat(0.25)
  const s: f32[17,40,1,1] = splat(0.0625)
  const e: f32[40,17,1,1] = splat(0.03125)
  a: f32[2,21,4,6] = conv(x, w, strides=[2,2], pads=[1,1,1,1], dilations=[1,1])
  b: f32[2,40,4,6] = conv(a, v, strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
  c: f32[2,40,4,6] = conv(b, d, strides=[1,1], pads=[1,1,1,1], dilations=[1,1], groups=40)
  p: f32[2,40,1,1] = reduce_mean(c, axes=[2,3], keepdims=true)
  q: f32[2,17,1,1] = conv(p, s, strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
  r: f32[2,40,1,1] = conv(q, e, strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
  m: f32[2,40,4,6] = mul(c, r)
  k: f32[2,61,4,6] = concat(m, a, axis=1)
  l: f32[2,20,4,6], h: f32[2,41,4,6] = split(k, axis=1, sizes=[20,41])
  u: f32[2,61,8,12] = max_pool(k, kernel=[2,2], strides=[1,1], pads=[2,3,3,4], dilations=[1,1])
  y: f32[2,61,8,12] = tanh(u)
  z: f32[2,20,24] = reshape(l, shape)
  return y, z, h
}
"""


@pytest.mark.parametrize("layouts", ["blocked", "last", "all"])
@pytest.mark.parametrize("block", [8, 16])
def test_channels_that_fill_no_block_are_right(layouts: str, block: int) -> None:
    text = ODD.replace("  a:", "  const shape: i64[3] = literal(2,20,24)\n  a:", 1)
    g = graph(text)
    inputs = random_inputs(g)
    for before in ("", "fuse,"):
        line = f"{before}assign_layout{{block={block},layouts={layouts}}}"
        program = compiler.compile(g, pipeline=line)
        for name, expected in reference(g, inputs).items():
            scale = float(np.abs(expected).max())
            np.testing.assert_allclose(program.run(inputs)[name], expected, atol=2e-5 * scale)


def test_channels_last_is_a_block_of_all_channels() -> None:
    text = TWO_READERS.replace("f32[1,64,", "f32[1,32,").replace("[64,32", "[32,32")
    after = ASSIGN.run(graph(text), layouts="last")
    blocks = {t.layout.block for t in after.types.values() if isinstance(t, TensorType)}
    assert blocks == {1, CHANNELS}


TWO_READERS = """
graph g(x: f32[1,32,40,40]) {
  const w: f32[64,32,3,3] = splat(0.5)
  a: f32[1,64,40,40] = conv(x, w, strides=[1,1], pads=[1,1,1,1], dilations=[1,1])
  y: f32[1,64,40,40] = softmax(a, axis=-1)
  return a, y
}
"""


def test_a_plain_copy_serves_readers_and_the_result() -> None:
    after = ASSIGN.run(graph(TWO_READERS))
    verify(after)
    assert sum(n.op == "relayout" and n.tensor.layout.is_plain for n in after.nodes) == 1
    assert after.producers["y"].inputs == ("a",)


SCATTERED = """
graph g(x: f32[1,32,9,8], i: i64[2,4], u: f32[2]) {
  const w: f32[32,32,3,3] = splat(0.5)
  s: f32[1,32,9,8] = scatter_nd(x, i, u)
  y: f32[1,32,9,8] = conv(s, w, strides=[1,1], pads=[1,1,1,1], dilations=[1,1])
  return y
}
"""


def test_what_stores_at_computed_places_stays_plain_and_native() -> None:
    program = compiler.compile(graph(SCATTERED))
    assert all(k.native for k in program.kernels)


def test_each_component_says_what_every_layout_costs() -> None:
    log = Log()
    ASSIGN.run(graph(TWO_READERS), log, layouts="all")
    steps = {s.rule: s for s in log.steps}
    chosen = steps.get("block_channels") or steps["channels_last"]
    for words in ("plain order", "blocks of channels", "channels last"):
        assert words in chosen.because
    assert " move" in steps["assign_layout"].because
    assert steps["relayout"].cost_after is not None


def test_a_refused_component_stays_plain_and_the_rest_is_chosen_anew() -> None:
    g = random_network(random.Random(8), 8)
    asked: list[str] = []
    ASSIGN.run(g, Log(gate=lambda d: asked.append(d.at) is None))
    for refused in asked[1:]:
        log = Log(gate=lambda d, refused=refused: d.at != refused)
        after = ASSIGN.run(g, log)
        verify(after)
        at = after.types[refused]
        assert isinstance(at, TensorType)
        assert at.layout.block == 1 or all(s.rule == "halo" for s in log.steps if s.at == refused)


def test_copies_that_movement_takes_in_cost_nothing() -> None:
    g = graph("""
    graph g(x: f32[1,8,6,5]) {
      const d: f32[8,1,3,3] = splat(0.5)
      const s: i64[4] = literal(1,8,6,5)
      t: f32[1,6,8,5] = transpose(x, perm=[0,2,1,3])

      r: f32[1,8,6,5] = reshape(t, s)
      y: f32[1,8,6,5] = conv(r, d, strides=[1,1], pads=[1,1,1,1], dilations=[1,1], groups=8)
      return y
    }
    """)
    problem = Problem(g, 16, LABELS["blocked"])
    assert problem.border_cost("r") == 0
    assert problem.border_cost("y") > 0
