"""Tests that simplifying random chains of views and movement preserves element positions."""

from __future__ import annotations

import random

import numpy as np
import pytest

from compiler.ir.graph import Graph
from compiler.ir.operator import Array
from compiler.ir.types import TensorType
from compiler.ir.verify import verify
from compiler.passes import PASSES
from compiler.passes.engine.rewrite import apply_rules
from compiler.passes.rules.views import VIEWS
from compiler.reference import reference
from compiler.trace import Log
from tests.compiler.passes.moving_graphs import moving_graph
from tests.compiler.passes.numbers import SPECIAL, applied

MOVING = (
    "fold_shapes",
    "fold_split_concat",
    "sink_transposes",
    "remove_redundant_broadcasts",
    "push_down_slices",
)
"""The graph passes for data movement."""

BATCH = 25
"""Number of graphs in one test."""


def feeds(graph: Graph, seed: int, sizes: dict[str, int]) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    found: dict[str, Array] = {}
    for v in graph.inputs:
        assert isinstance(v.type, TensorType)
        shape = [d if isinstance(d, int) else sizes[str(d)] for d in v.type.dims]
        found[v.name] = rng.permutation(int(np.prod(shape))).reshape(shape).astype(np.float32)
        if seed % 2:
            found[v.name] = rng.choice(SPECIAL, shape).astype(np.float32)
    return found


def assert_equal(before: Graph, after: Graph, inputs: dict[str, Array], what: str) -> None:
    with np.errstate(all="ignore"):
        left, right = reference(before, inputs), reference(after, inputs)
    for name, x in left.items():
        y = right[name]
        assert (x.dtype, x.shape) == (y.dtype, y.shape), f"{what}\n{before}\n{after}"
        np.testing.assert_array_equal(x, y, err_msg=f"{what}\n{before}\n{after}")


def stepped(graph: Graph, name: str) -> Graph:
    """Return the graph after the rules for views, or after a pass."""
    log = Log()
    after = apply_rules(graph, VIEWS, log) if name == "views" else PASSES[name].run(graph, log)
    verify(after)
    assert "budget" not in {s.rule for s in log.steps}, f"{name} did not terminate\n{graph}"
    again = Log()
    twice = apply_rules(after, VIEWS, again) if name == "views" else PASSES[name].run(after, again)
    assert twice is after, f"{name} twice: {applied(again.steps)}\n{graph}\n{after}\n{twice}"
    return after


def check(seed: int, is_open: bool) -> None:
    graph = moving_graph(seed, is_open=is_open)
    verify(graph)
    sizes = [{"N": 5, "M": 7}, {"N": 1, "M": 2}] if is_open else [{}]
    inputs = [feeds(graph, seed + i, s) for i, s in enumerate(sizes)]
    order = ["views", *random.Random(seed).sample(MOVING, 5), "views", "remove_noops"]
    after = graph
    for i, name in enumerate(order):
        after = stepped(after, name)
        for given in inputs:
            assert_equal(graph, after, given, f"seed {seed}, after {order[: i + 1]}")


@pytest.mark.parametrize("batch", range(6))
def test_movements_of_known_sizes_keep_every_element(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        check(seed, is_open=False)


@pytest.mark.parametrize("batch", range(6))
def test_movements_of_open_sizes_keep_every_element(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        check(seed, is_open=True)
