"""Runs of control-flow passes, and comparisons of results on all branches."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from compiler.ir.graph import Graph
from compiler.ir.operator import Array
from compiler.ir.verify import verify
from compiler.passes import PASSES
from compiler.reference import reference
from compiler.trace import Log, Step
from tests.compiler.passes.numbers import SPECIAL, random_inputs

LOOP = """
graph g(x: f32[2,3], w: f32[3], n: i64[], c: bool[]) {
  const two: f32[] = literal(2.0)
  y: f32[2,3], k: f32[3], u: f32[], v: f32[2,3] = onnx.Loop(n, c, x, w, two, x, opset=16) {
    body: graph body(i: i64[], on: bool[], s: f32[2,3], t: f32[3], f: f32[], d: f32[2,3]) {
      const half: f32[] = literal(0.5)
      j: f32[3] = identity(t)
      p: f32[2,3] = mul(s, f)
      q: f32[2,3] = add(p, t)
      h: f32[2,3] = mul(d, half)
      return on, q, j, f, h
    }
  }
  return y, k
}
"""
"""A loop with states that change, stay, and have no readers."""


def ran(g: Graph, *names: str) -> tuple[Graph, list[Step]]:
    """Run passes; return the verified graph, and all steps."""
    log = Log()
    for name in names:
        g = PASSES[name].run(g, log)
        verify(g)
    return g, log.steps


def done(steps: list[Step]) -> list[str]:
    """Return the rules of applied steps."""
    return [s.rule for s in steps if s.outcome == "applied"]


def reasons(steps: list[Step]) -> list[str]:
    """Return the reasons of declined steps."""
    return [s.because for s in steps if s.outcome == "declined"]


def all_inputs(g: Graph) -> Iterator[dict[str, Array]]:
    """Yield both conditions, zero and more iterations, and special numbers."""
    rng = np.random.default_rng(0)
    for flag in (False, True):
        for n in (0, 3):
            inputs = random_inputs(g, n)
            for name, array in inputs.items():
                if array.dtype == np.bool_:
                    inputs[name] = np.full(array.shape, flag)
                elif array.dtype.kind == "i":
                    inputs[name] = np.full(array.shape, n, array.dtype)
                else:
                    inputs[name] = rng.choice(SPECIAL, array.shape).astype(array.dtype)
            yield inputs


def same(g: Graph, after: Graph) -> None:
    """Assert bitwise equal results of two graphs for `all_inputs`."""
    for inputs in all_inputs(g):
        with np.errstate(all="ignore"):
            left, right = reference(g, inputs), reference(after, inputs)
        assert list(left) == list(right)
        for name, x in left.items():
            np.testing.assert_array_equal(x, right[name])
