"""Tests of loops with a data-dependent end, executed in rounds of generated code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import compiler
from compiler.runtime.open import between, rounds
from tests.compiler.passes.test_counted_loops import Body, X, agrees, counted, expected, from_python

FLOOR = helper.make_tensor_value_info("floor", TensorProto.FLOAT, ())


@pytest.fixture
def no_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail if the reference executes a loop."""
    original = between.evaluate_node

    def evaluate(node: Any, *rest: Any) -> Any:
        assert node.op != "onnx.Loop", "the reference runs a loop"
        return original(node, *rest)

    monkeypatch.setattr(between, "evaluate_node", evaluate)


def above_floor(b: Body) -> str:
    return b.add("Greater", b.add("ReduceSum", "s", keepdims=0), "floor")


@pytest.mark.usefixtures("no_reference")
@pytest.mark.parametrize("n_steps", [1, 2, 3, 16])
@pytest.mark.parametrize("floor", [-1.0, -4.0, -5.0])
def test_rounds_go_on_where_the_last_one_ended(
    monkeypatch: pytest.MonkeyPatch, n_steps: int, floor: float
) -> None:
    monkeypatch.setattr(rounds, "FEWEST", n_steps)
    monkeypatch.setattr(rounds, "MOST", n_steps)
    model = counted(above_floor, limit=7, inputs=[FLOOR])
    agrees(model, {"x": X, "floor": np.array(floor, np.float32)})


@pytest.mark.usefixtures("no_reference")
def test_the_number_of_the_step_goes_on_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "FEWEST", 2)
    monkeypatch.setattr(rounds, "MOST", 2)
    model = counted(above_floor, limit=5, inputs=[FLOOR], row="n")
    agrees(model, {"x": X, "floor": np.array(-9, np.float32)})


@pytest.mark.usefixtures("no_reference")
@pytest.mark.parametrize(("limit", "go"), [(0, True), (4, False)])
def test_no_steps_give_no_rows(limit: int, go: bool) -> None:
    model = counted(above_floor, limit=limit, go=go, inputs=[FLOOR])
    agrees(model, {"x": X, "floor": np.array(-9, np.float32)})


@pytest.mark.usefixtures("no_reference")
def test_a_count_bounds_a_condition_on_data() -> None:
    def condition(b: Body) -> str:
        return b.add("And", b.add("Less", "k1", np.int64(5)), above_floor(b))

    model = counted(condition, inputs=[FLOOR])
    program = compiler.compile(model)
    for floor in (-3.0, -4.5, -9.0):
        inputs = {"x": X, "floor": np.array(floor, np.float32)}
        for a, b in zip(program.run(inputs).values(), expected(model, inputs), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5)
    assert not from_python(program)
