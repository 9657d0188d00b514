from __future__ import annotations

import numpy as np
import pytest

from compiler.check.values import StageValues, has_bits_of
from compiler.ir.constant import Constant
from compiler.ops.evaluation.meaning import evaluate_graph
from compiler.passes import run_pipeline
from compiler.runtime.inputs import random_inputs
from tests.compiler.passes.networks import NETWORKS
from tests.compiler.passes.numbers import graph

BEFORE = graph("""
graph g(x: f32[3,5], y: f32[5]) {
  a: f32[3,5] = exp(x)
  b: f32[3,5] = add(a, y)
  c: f32[3,5] = mul(b, b)
  d: f32[5] = neg(y)
  return c, d
}
""")


@pytest.mark.parametrize("name", NETWORKS)
def test_stages_have_the_values_that_they_have_alone(name: str) -> None:
    source = NETWORKS[name]
    inputs = random_inputs(source)
    _, trace = run_pipeline(source, "default")
    values, n_nodes = StageValues(inputs), 0
    for after in (source, *(e.after for e in trace.events if e.changed)):
        made = values.of(after)
        n_nodes += len(after.nodes)
        alone = evaluate_graph(after, inputs, keep=after.types)
        assert all(has_bits_of(np.asarray(made[k]), np.asarray(v)) for k, v in alone.items())
    assert len(source.nodes) <= values.n_evaluated < n_nodes


def test_only_what_reads_other_numbers_is_computed_again() -> None:
    inputs = {"x": np.ones((3, 5), np.float32), "y": np.arange(5, dtype=np.float32)}
    values = StageValues(inputs)
    first = values.of(BEFORE)
    assert values.n_evaluated == 4
    # Another computation of b gives the same bits, so c is not computed again.
    same = graph(str(BEFORE).replace("add(a, y)", "add(y, a)"))
    shared = {n.output: n for n in BEFORE.nodes}
    nodes = tuple(n if n.output == "b" else shared[n.output] for n in same.nodes)
    changed = type(BEFORE)("g", BEFORE.inputs, BEFORE.results, nodes, {})
    again = values.of(changed)
    assert values.n_evaluated == 5
    assert again["c"] is first["c"]
    # Different bits affect only the readers.
    other = graph(str(BEFORE).replace("add(a, y)", "sub(a, y)"))
    nodes = tuple(n if n.output == "b" else shared[n.output] for n in other.nodes)
    values.of(type(BEFORE)("g", BEFORE.inputs, BEFORE.results, nodes, {}))
    assert values.n_evaluated == 7


def test_a_constant_with_the_bits_that_a_node_gave_is_that_value() -> None:
    values = StageValues({"x": np.ones(3, np.float32)})
    first = values.of(graph("graph g(x: f32[3]) {\n y: f32[3] = neg(x)\n return y\n}"))
    c = Constant.of(-np.ones(3, np.float32))
    folded = graph("graph g(x: f32[3]) {\n z: f32[3] = neg(x)\n return z\n}")
    made = values.of(type(folded)("g", folded.inputs, folded.results, folded.nodes, {"y": c}))
    assert made["y"] is first["y"]


def test_bits_are_compared_and_not_numbers() -> None:
    zeros = np.zeros(4, np.float32)
    assert not has_bits_of(zeros, -zeros)
    assert not has_bits_of(zeros, zeros.astype(np.float64))
    nan = np.full(3, np.nan, np.float32)
    assert has_bits_of(nan, nan.copy())
    # Splats are compared without allocating their elements.
    huge = np.broadcast_to(np.float32(2), (1 << 20, 1 << 20))
    assert has_bits_of(huge, np.broadcast_to(np.float32(2), huge.shape))
    assert not has_bits_of(huge, np.broadcast_to(np.float32(3), huge.shape))
    assert not has_bits_of(zeros, [0.0] * 4)
