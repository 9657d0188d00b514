"""Tests of reordered launches: equal results, less memory, and fixed positions."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.errors import CompileError
from compiler.memory.orders import METHODS
from compiler.runtime.inputs import random_inputs
from compiler.runtime.thunks.arrange import needed
from compiler.runtime.thunks.launch_order import ordered_launches
from compiler.runtime.thunks.partition import n_crossings
from compiler.runtime.thunks.select import FallbackThunk, Selector
from compiler.targets.options import CodeOptions
from tests.platforms import needs_own_threads


def branches(n: int, rows: int = 40) -> str:
    """Return products with wide results, all of them before the products that narrow these."""
    wide = [f"a{i}: f32[{rows},{64 + 16 * i}] = matmul(x, w{i})" for i in range(n)]
    narrow = [f"b{i}: f32[{rows},8] = matmul(a{i}, v{i})" for i in range(n)]
    join = f"y: f32[{rows},{8 * n}] = concat({', '.join(f'b{i}' for i in range(n))}, axis=1)"
    weights = [f"w{i}: f32[24,{64 + 16 * i}], v{i}: f32[{64 + 16 * i},8]" for i in range(n)]
    lines = "\n  ".join([*wide, *narrow, join])
    return f"graph g(x: f32[{rows},24], {', '.join(weights)}) {{\n  {lines}\n  return y\n}}"


GRAPH = branches(5)


@pytest.mark.parametrize("method", METHODS)
def test_every_order_gives_the_same_to_the_bit(method: str):
    graph = compiler.parse(GRAPH)
    inputs = random_inputs(graph)
    given = compiler.compile(graph, "fuse", order="given")
    found = compiler.compile(graph, "fuse", order=method)
    np.testing.assert_array_equal(found.run(inputs)["y"], given.run(inputs)["y"])


def test_the_arena_is_smaller_and_the_trace_says_so():
    graph = compiler.parse(GRAPH)
    given, best = (compiler.compile(graph, "fuse", order=o) for o in ("given", "best"))
    assert best.memory.peak_bytes < 0.6 * given.memory.peak_bytes
    event = best.order
    assert event is not None
    assert best.trace is not None
    assert best.trace.events[-1] is event
    assert event.changed
    assert sorted(n.output for n in event.after.nodes) == sorted(
        n.output for n in event.before.nodes
    )
    assert event.after is best.graph
    assert "instead of" in event.words
    assert given.order is not None
    assert not given.order.changed
    assert "keep their order" in given.order.words


def test_kernels_are_listed_as_they_run():
    program = compiler.compile(compiler.parse(GRAPH), "fuse")
    outputs = [n.output for n in program.graph.nodes]
    assert len(program.kernels) == len(outputs)
    for i in range(5):
        assert outputs.index(f"b{i}") == outputs.index(f"a{i}") + 1


def test_nothing_moves_across_what_the_reference_runs():
    """The wide branches are on both sides of a fallback, which separates them."""
    graph = compiler.parse(GRAPH)
    thunks = list(Selector(graph, CodeOptions()).thunks())
    half = len(thunks) // 2 - 1
    thunks[half] = FallbackThunk(thunks[half].node, "for the test")
    made = ordered_launches(thunks, needed(graph, thunks), (), "best")
    assert n_crossings(made.thunks) == n_crossings(thunks) == 2
    assert {w.node.output for w in made.thunks[:half]} == {w.node.output for w in thunks[:half]}


@needs_own_threads
def test_chains_that_run_side_by_side_stay_together():
    chains = "\n  ".join(
        f"{c}{i}: f32[24,40] = matmul({f'{c}{i - 1}' if i else 'z'}, u)"
        for c in "cd"
        for i in range(5)
    )
    text = branches(5, 600).replace("graph g(", "graph g(z: f32[24,40], u: f32[40,40], ")
    text = text.replace("  a0:", f"  {chains}\n  a0:").replace("return y", "return y, c4, d3")
    graph = compiler.parse(text)
    inputs = random_inputs(graph)
    expected = compiler.compile(graph, "fuse", order="given").run(inputs)
    program = compiler.compile(graph, "fuse", threads=2)
    assert program.order is not None
    assert program.order.changed
    assert any(n.startswith("in parallel, in about") for n in program.notes)
    for _ in range(20):
        found = program.run(inputs)
        assert all(np.array_equal(found[k], expected[k]) for k in expected)


@pytest.mark.parametrize("order", ["fastest", "", 3, None])
def test_another_order_is_refused(order: object):
    with pytest.raises(CompileError, match="no order is named") as e:
        compiler.compile(compiler.parse(GRAPH), order=order)  # type: ignore[arg-type]
    assert e.value.code == "E-OPTION-VALUE"
