"""Tests of schedules over open sizes: tiles and remainder loops, correct for every size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler.ops
from compiler.compute.evaluate import evaluate
from compiler.compute.lower import lower_node
from compiler.ir.infer import fix_sizes
from compiler.ir.text import parse_graph
from compiler.loops.interpret import interpret
from compiler.loops.nodes import Kernel
from compiler.loops.sizes import with_sizes
from compiler.loops.text import parse_kernel
from compiler.loops.verify import verify_kernel
from compiler.schedule.policy import schedule
from compiler.targets.options import CodeOptions
from tests.kernel_runs import random_array, run_native

assert compiler.ops.__doc__

NODES = {
    "rows": ("x: f32[N,5], y: f32[5]", "z: f32[N,5] = add(x, y)"),
    "columns": ("x: f32[3,N]", "z: f32[3,N] = exp(x)"),
    "turned": ("x: f32[N,M]", "z: f32[M,N] = transpose(x, perm=[1,0])"),
    "sum_over_open": ("x: f32[3,N]", "z: f32[3] = reduce_sum(x, axes=[1], keepdims=false)"),
    "sum_of_open": ("x: f32[N,4,M]", "z: f32[N,M] = reduce_sum(x, axes=[1], keepdims=false)"),
    "product_rows": ("x: f32[N,9], w: f32[9,21]", "z: f32[N,21] = matmul(x, w)"),
    "product_all": ("x: f32[N,K], w: f32[K,M]", "z: f32[N,M] = matmul(x, w)"),
    "softmax": ("x: f32[N,M]", "z: f32[N,M] = softmax(x, axis=1)"),
    "images": (
        "x: f32[N,2,5,7], w: f32[9,2,3,3]",
        "z: f32[N,9,5,7] = conv(x, w, strides=[1,1], pads=[1,1,1,1], dilations=[1,1])",
    ),
    "window": (
        "x: f32[1,2,N], w: f32[3,2,3]",
        "z: f32[1,3,(N-1)//2+1] = conv(x, w, strides=[2], pads=[1,1], dilations=[1])",
    ),
    "pool": (
        "x: f32[2,3,N,M]",
        "z: f32[2,3,N,(M-1)//2+1] = max_pool(x, kernel=[3,5], strides=[1,2], pads=[2,2,0,2],"
        " dilations=[1,1])",
    ),
}


def kernel_of(name: str) -> tuple[Kernel, Any]:
    """Return the kernel of a node with open sizes, and its graph."""
    signature, line = NODES[name]
    graph = parse_graph(f"graph g({signature}) {{\n  {line}\n  return z\n}}")
    lowered = lower_node(graph.nodes[0], graph)
    assert lowered is not None
    return schedule(lowered.computation, frozenset(), CodeOptions()).kernel, graph


@pytest.mark.parametrize("name", NODES)
def test_text_reads_back_and_every_index_lies_inside(name: str) -> None:
    kernel, _ = kernel_of(name)
    assert kernel.sizes
    assert parse_kernel(str(kernel)) == kernel
    verify_kernel(kernel)


INTERPRETED = 33
"""Sizes for the interpreter: larger sizes take many seconds and enter no other loop."""


@pytest.mark.parametrize("n", [1, 2, 7, 16, 33, 69])
@pytest.mark.parametrize("name", NODES)
def test_machine_code_and_interpreter_agree_with_the_computation_for_known_sizes(
    name: str, n: int
) -> None:
    kernel, graph = kernel_of(name)
    sizes = {s: n + 2 * i for i, s in enumerate(sorted(kernel.sizes))}
    known = fix_sizes(graph, sizes)
    lowered = lower_node(known.nodes[0], known)
    assert lowered is not None
    rng = np.random.default_rng(n)
    arrays = {b.name: random_array(b, rng) for b in with_sizes(kernel, sizes).params}
    needed = evaluate(lowered.computation, {k: arrays[k] for k in lowered.computation.inputs})
    results = [{k: a.copy() for k, a in arrays.items()}]
    run_native(kernel, results[0], sizes=sizes)
    if n <= INTERPRETED:
        interpret(kernel, arrays, sizes)
        results.append(arrays)
    for y, values in needed.items():
        for made in results:
            np.testing.assert_allclose(made[y], values, rtol=1e-4, atol=1e-4)


def test_rows_of_a_tile_are_known_pixels_rather_than_images() -> None:
    kernel, _ = kernel_of("images")
    assert "unroll n" not in str(kernel)
    rows, _ = kernel_of("product_rows")
    assert "unroll mi" in str(rows)


@pytest.mark.parametrize("name", ["rows", "turned", "product_rows", "softmax", "sum_of_open"])
def test_results_without_elements_touch_nothing(name: str) -> None:
    kernel, _ = kernel_of(name)
    sizes = {s: 0 if s == "N" else 5 for s in kernel.sizes}
    arrays = {b.name: np.zeros(b.shape, np.float32) for b in with_sizes(kernel, sizes).params}
    run_native(kernel, arrays, sizes=sizes)
