"""Tests of predicted kernel times: the memory levels of operands, and their cost."""

from dataclasses import replace
from typing import Any

import pytest
from onnx import TensorProto, helper

import compiler
from compiler.machine import keep
from compiler.machine.machine import estimated
from compiler.machine.roofline import Prediction
from compiler.runtime.inputs import random_inputs
from compiler.runtime.predict import predictions
from compiler.targets.target import by_name

CHAIN = compiler.parse(
    """
    graph chain(x: f32[6,10], w: f32[10,20]) {
      a: f32[6,20] = matmul(x, w)
      b: f32[6,20] = softmax(a, axis=-1)
      c: f32[20,6] = transpose(b, perm=[1,0])
      return c
    }
    """
)
MACHINE = replace(
    estimated(by_name("x86-64-v3")),
    flops_per_second=1e12,
    l1_bytes_per_second=1e9,
    l2_bytes_per_second=1e8,
    l3_bytes_per_second=1e7,
    dram_bytes_per_second=1e6,
    launch_seconds=0.0,
    l1_bytes=1000,
    l2_bytes=2500,
    l3_bytes=10**6,
)


def test_each_generated_kernel_has_a_prediction_and_a_bound() -> None:
    program = compiler.compile(CHAIN, pipeline="none")
    found = program.predictions
    assert list(found) == [k.name for k in program.kernels]
    assert all(p.seconds > 0 for p in found.values())
    profile = program.profile(random_inputs(CHAIN), repeat=1)
    assert set(profile.predicted) == set(found)
    assert all(profile.predicted[n].seconds > found[n].seconds for n in found)


def test_what_was_touched_last_comes_from_the_nearest_memory() -> None:
    program = compiler.compile(CHAIN, pipeline="none")
    names = [k.name for k in program.kernels]
    found = predictions(program.kernels, program.graph, 960, MACHINE, 0.0)
    # b: reads a (480 bytes, just written: L1) and writes 480 bytes of the arena of 960.
    assert found[names[1]].seconds == pytest.approx(2 * 480 / 1e9, rel=1e-2)
    assert found[names[1]].bound == "L1"
    # a: reads x and w, last used one run earlier: more bytes in between than L1, fewer than L2.
    assert found[names[0]].bound == "L2"
    assert found[names[0]].seconds == pytest.approx((240 + 800) / 1e8 + 480 / 1e9, rel=1e-2)


def test_a_cache_that_is_too_small_for_a_run_is_passed_by() -> None:
    program = compiler.compile(CHAIN, pipeline="none")
    tiny = replace(MACHINE, l1_bytes=1, l2_bytes=2, l3_bytes=3)
    found = predictions(program.kernels, program.graph, 960, tiny, 0.0)
    assert {p.bound for p in found.values()} == {"DRAM"}


def test_code_for_another_machine_is_predicted_from_its_facts() -> None:
    slow, fast = (
        compiler.compile(CHAIN, target=t, pipeline="none").predictions
        for t in ("aarch64", "x86-64-v4")
    )
    assert all(slow[n].seconds >= fast[n].seconds for n in slow)


def test_open_programs_are_predicted_for_the_sizes_of_the_last_run() -> None:
    graph = compiler.parse(
        "graph g(x: f32[N,64]) {\n  y: f32[N,64] = softmax(x, axis=-1)\n  return y\n}"
    )
    program = compiler.compile(graph)
    seconds = []
    for n in (8, 800):
        program.run(random_inputs(graph, 0, {"x": (n, 64)}))
        (only,) = program.predictions.values()
        seconds.append(only.seconds)
    assert seconds[1] > 50 * seconds[0]


def test_a_node_with_regions_needs_as_long_as_what_runs_inside() -> None:
    value = helper.make_tensor_value_info
    branches = {
        f"{name}_branch": helper.make_graph(
            [helper.make_node(op, ["x"], ["t"])], name, [], [value("t", TensorProto.FLOAT, None)]
        )
        for name, op in (("then", "Exp"), ("else", "Neg"))
    }
    graph = helper.make_graph(
        [helper.make_node("If", ["c"], ["y"], **branches)],
        "choice",
        [value("x", TensorProto.FLOAT, [50, 300]), value("c", TensorProto.BOOL, [])],
        [value("y", TensorProto.FLOAT, [50, 300])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    program = compiler.compile(model.SerializeToString(), pipeline="none")
    found = program.predictions
    (around,) = (k for k in program.kernels if not k.inside)
    inner = [found[k.name].seconds for k in program.kernels if k.inside == around.name]
    assert len(inner) == 2
    assert found[around.name].seconds == pytest.approx(sum(inner), rel=0.01)


def test_threads_multiply_the_speeds_of_a_core_so_bounds_stay_bounds() -> None:
    two = MACHINE.of_cores(2)
    assert two.flops_per_second == 2 * MACHINE.flops_per_second
    assert two.dram_bytes_per_second == 2 * MACHINE.dram_bytes_per_second
    assert two.l1_bytes == 2 * MACHINE.l1_bytes
    assert two.l3_bytes == MACHINE.l3_bytes, "all cores share it"
    assert two.launch_seconds == MACHINE.launch_seconds
    assert MACHINE.of_cores(1) is MACHINE


def test_the_batches_of_a_measurement_share_predictions(monkeypatch: pytest.MonkeyPatch) -> None:
    program = compiler.compile(CHAIN, pipeline="none")
    inputs = random_inputs(program.source, 0)
    calls: list[float] = []

    def counted(*given: Any) -> dict[str, Prediction]:
        calls.append(given[-1])
        return predictions(*given)

    monkeypatch.setattr("compiler.runtime.predict.predictions", counted)
    first, second = (program.profile(inputs, repeat=1).predicted for _ in range(2))
    assert first == second
    assert len(calls) == 1
    assert program.predictions != first, "the overhead of a launch is smaller than that of a call"
    monkeypatch.setattr(keep, "_given", (MACHINE, 0.0))
    assert program.profile(inputs, repeat=1).predicted != first, "the speeds have changed"
