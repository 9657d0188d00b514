"""The reason of a declined fusion names the cause of separate loops."""

from __future__ import annotations

import pytest

from compiler.passes import PASSES
from compiler.trace import Log
from tests.compiler.passes.numbers import graph


@pytest.mark.parametrize("policy", ["anchor", "greedy", "xla"])
@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ("relu(x)", "softmax(a, axis=1)", "softmax reads its operand several times, and fuse"),
        ("relu(x)", "transpose(a, perm=[1,0])", "transpose b copies elements to other positions"),
        ("relu(x)", "flatten(a, axis=1)", "flatten b is a view, which has no loop"),
        ("flatten(x, axis=1)", "matmul(a, x)", "flatten a is a view, which has no loop"),
        ("relu(x)", "matmul(a, x)", "fusing elementwise relu into contraction matmul would"),
        ("reduce_sum(x, axes=[1], keepdims=true)", "matmul(x, a)", "would recompute the operand"),
        ("matmul(x, x)", "matmul(a, x)", "a kernel holds one contraction or reduction"),
    ],
)
def test_the_reason_for_separate_loops_names_the_cause(
    policy: str, first: str, second: str, reason: str
) -> None:
    size = "f32[4,1]" if "reduce" in first else "f32[4,4]"
    text = f"graph g(x: f32[4,4]) {{ a: {size} = {first} b: {size} = {second} return b }}"
    log = Log()
    PASSES["fuse"].run(graph(text), log, policy=policy)
    (step,) = [s for s in log.steps if s.outcome == "declined" and s.took == ("a", "b")]
    assert reason in step.because


def test_a_concat_may_have_no_loop_at_all() -> None:
    text = (
        "graph g(x: f32[4,4]) { a: f32[4,4] = relu(x) b: f32[4,8] = concat(a, x, axis=1) return b }"
    )
    log = Log()
    PASSES["fuse"].run(graph(text), log)
    (step,) = [s for s in log.steps if s.outcome == "declined" and s.took == ("a", "b")]
    assert "needs no loop, if its operands are written directly" in step.because
