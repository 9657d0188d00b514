"""Tests of transposing copies in squares, which use each cache line completely."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.compute.lower import lower_node
from compiler.loops.verify import verify_kernel
from compiler.schedule.policy import schedule
from compiler.targets.options import CodeOptions
from compiler.targets.target import by_name
from tests.kernel_runs import compare

SHAPES = [("37,53", "[1,0]"), ("2,19,33", "[0,2,1]"), ("18,3,21", "[2,0,1]"), ("16,32", "[1,0]")]


@pytest.mark.parametrize(("shape", "perm"), SHAPES)
@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v4", "aarch64"])
def test_squares_hold_what_the_interpreter_says(shape: str, perm: str, name: str) -> None:
    dims = [int(n) for n in shape.split(",")]
    order = [int(n) for n in perm.strip("[]").split(",")]
    made = ",".join(str(dims[a]) for a in order)
    g = compiler.parse(
        f"graph g(x: f32[{shape}]) {{ y: f32[{made}] = transpose(x, perm={perm}) return y }}"
    )
    lowered = lower_node(g.nodes[0], g)
    assert lowered is not None
    kernel = schedule(lowered.computation, frozenset(), CodeOptions(by_name(name))).kernel
    verify_kernel(kernel)
    x = np.arange(np.prod(dims), dtype=np.float32).reshape(dims)
    x_name, y_name = (b.name for b in kernel.params)
    arrays = {x_name: x, y_name: np.full([dims[a] for a in order], np.nan, np.float32)}
    np.testing.assert_array_equal(compare(kernel, arrays)[y_name], x.transpose(order))


def test_the_reason_stands_beside_the_moves() -> None:
    g = compiler.parse(
        "graph g(x: f32[64,80]) { y: f32[80,64] = transpose(x, perm=[1,0]) return y }"
    )
    lowered = lower_node(g.nodes[0], g)
    assert lowered is not None
    made = schedule(lowered.computation, frozenset(), CodeOptions(by_name("x86-64-v4")))
    assert "square" in made.text
