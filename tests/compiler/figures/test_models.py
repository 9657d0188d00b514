"""Tests of figures of a graph's composition."""

from __future__ import annotations

from dataclasses import replace

import pytest

import compiler
from compiler.figures import costs, execution, memory, models
from compiler.memory.buffer import Buffer, Plan
from compiler.passes.pipeline.run import run_pipeline
from tests.figure_models import a_branch, a_branch_by_the_reference, a_loop, open_sizes, quantized
from tests.onnx_models import model, node, stored, value


def loaded(made: object) -> compiler.Graph:
    return compiler.load(made.SerializeToString())  # type: ignore[attr-defined]


def test_nodes_in_regions_count_and_those_in_fusions_do_not() -> None:
    graph = loaded(a_branch())
    assert (len(graph.nodes), models.n_nodes(graph)) == (1, 7)
    assert models.n_onnx_nodes(graph) == 7
    assert sum(models.operators(graph).values()) == 7
    assert models.n_parameters(graph) == 128
    assert models.constant_bytes(graph) == 128 * 4
    fused = run_pipeline(graph)[0]
    assert models.n_nodes(fused) < 7


def test_quantized_weights_and_biases_are_parameters_but_indices_and_scalars_are_not() -> None:
    assert models.n_parameters(loaded(quantized())) == 160 + 10
    nodes = [node("Gather", ["x", "i"], ["a"]), node("Mul", ["a", "half"], ["y"])]
    made = model(
        nodes,
        outputs=[value("y", (2, 3))],
        initialisers=[stored("i", [1, 0]), stored("half", 0.5, "float32")],
    )
    assert models.n_parameters(loaded(made)) == 0


def test_bytes_of_values_are_unknown_while_a_size_is_open() -> None:
    graph = loaded(open_sizes())
    assert models.value_bytes(graph) is None
    sized = compiler.compile(graph, inputs={"x": (5, 8)}).trace
    assert sized is not None
    assert models.value_bytes(sized.events[0].before) == 2 * 5 * 6 * 4


def test_a_loop_counts_its_body_once_per_iteration() -> None:
    work = costs.Work(loaded(a_loop()))
    assert costs.macs(work) == 40 * 2 * 8 * 8
    assert costs.activation_bytes(work) is None, "regions have memory of their own"
    assert costs.macs(costs.Work(loaded(open_sizes()))) is None


def test_the_share_of_native_operations_is_unknown_with_unknown_fallbacks() -> None:
    kernels = compiler.compile(loaded(a_branch_by_the_reference())).kernels
    found = execution.execution(kernels)
    assert (found["n_native"], found["n_fallback"]) == (0, 1)
    assert found["n_inside"] == found["n_kernels"] - 1
    assert found["n_uncounted"] == 4, "two in each branch; the If is counted by what it contains"
    assert found["native_share"] is None
    native = execution.execution(compiler.compile(loaded(a_branch())).kernels)
    assert (native["n_native"], native["native_share"]) == (1, 1.0)


def test_a_fallback_with_declared_operations_lowers_the_share() -> None:
    kernels = compiler.compile(loaded(a_branch())).kernels
    one = replace(kernels[1], inside="")
    half = [one, replace(one, native=False)]
    assert execution.execution(half)["native_share"] == 0.5
    assert execution.n_crossings(half) == 1


def test_an_arena_has_a_peak_of_live_bytes_and_unused_bytes() -> None:
    buffers = (
        Buffer("b0", 1000, 0, 4, 0),
        Buffer("b1", 2000, 2, 10, 1000),
        Buffer("b2", 500, 4, 8, 0),
    )
    plan = Plan(buffers, alignment_bytes=1)
    assert (memory.arena_bytes(plan), memory.live_peak_bytes(plan)) == (3000, 3000)
    assert memory.idle_share(plan) == pytest.approx(4000 / 26000)
    assert memory.over_bound(plan) == 0.0
    empty = Plan(())
    assert (memory.live_peak_bytes(empty), memory.idle_share(empty)) == (0, 0.0)
    assert memory.over_bound(empty) is None
