"""Tests that open input sizes become numbers if the operators permit only one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import compiler
from compiler.errors import CompileError
from compiler.frontend import load
from tests.onnx_models import node, value

WEIGHTS = np.random.default_rng(1).standard_normal((6, 5, 3, 3), np.float32)


def saved(nodes: list[Any], inputs: list[Any], constants: dict[str, np.ndarray]) -> bytes:
    stored = [numpy_helper.from_array(a, name) for name, a in constants.items()]
    g = helper.make_graph(nodes, "g", inputs, [value("y", None)], stored)
    return helper.make_model(g, opset_imports=[helper.make_opsetid("", 22)]).SerializeToString()


def shapes(model: bytes) -> list[str]:
    return [str(v.type) for v in load(model).inputs]


def test_weights_decide_the_channels_of_an_image() -> None:
    conv = node("Conv", ["x", "w"], ["y"], name="conv")
    model = saved([conv], [value("x", ["N", "C", "H", "W"])], {"w": WEIGHTS})
    assert shapes(model) == ["f32[N,5,H,W]"]
    program = compiler.compile(model)
    x = np.random.default_rng(2).standard_normal((2, 5, 7, 9), np.float32)
    np.testing.assert_allclose(
        program.run({"x": x})["y"],
        compiler.reference(load(model), {"x": x})["y"],
        rtol=1e-4,
        atol=1e-4,
    )
    with pytest.raises(CompileError) as caught:
        program.run({"x": x[:, :3]})
    assert caught.value.code == "E-INPUT-SHAPE"


def test_sizes_without_names_are_decided_too() -> None:
    model = saved(
        [node("MatMul", ["x", "w"], ["y"])], [value("x", [None, None])], {"w": WEIGHTS[:, :, 0, 0]}
    )
    assert shapes(model) == ["f32[x_d0,6]"]


def test_a_name_that_inputs_share_stays_open() -> None:
    nodes = [node("MatMul", ["x", "w"], ["a"]), node("Concat", ["a", "b"], ["y"], axis=0)]
    inputs = [value("x", ["N", "K"]), value("b", ["K", 5])]
    assert shapes(saved(nodes, inputs, {"w": WEIGHTS[:, :, 0, 0]})) == ["f32[N,K]", "f32[K,5]"]


def test_two_operators_that_disagree_decide_nothing() -> None:
    nodes = [
        node("MatMul", ["x", "w"], ["a"]),
        node("MatMul", ["x", "v"], ["b"]),
        node("Concat", ["a", "b"], ["y"], axis=1),
    ]
    model = saved(
        nodes, [value("x", ["N", "K"])], {"w": np.ones((6, 5), "f4"), "v": np.ones((4, 5), "f4")}
    )
    assert shapes(model) == ["f32[N,K]"]


def test_a_branch_that_does_not_accept_a_decided_size_runs_only_when_taken() -> None:
    product = helper.make_graph([node("MatMul", ["x", "v"], ["p"])], "then", [], [value("p", None)])
    other = helper.make_graph([node("MatMul", ["x", "w"], ["q"])], "else", [], [value("q", None)])
    chosen = node("If", ["c"], ["b"], then_branch=product, else_branch=other)
    nodes = [chosen, node("MatMul", ["x", "w"], ["a"]), node("Add", ["a", "b"], ["y"])]
    inputs = [value("x", ["N", "K"]), value("c", [], TensorProto.BOOL)]
    weights = {"w": WEIGHTS[:, :, 0, 0], "v": np.ones((4, 5), "f4")}
    model = saved(nodes, inputs, weights)
    assert shapes(model) == ["f32[N,6]", "bool[]"]
    program = compiler.compile(model)
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    found = program.run({"x": x, "c": np.array(False)})["y"]
    np.testing.assert_allclose(found, 2 * x @ weights["w"], rtol=1e-4, atol=1e-5)
    with pytest.raises(CompileError):
        program.run({"x": x, "c": np.array(True)})


def test_a_branch_that_may_never_run_decides_nothing() -> None:
    product = helper.make_graph([node("MatMul", ["x", "w"], ["p"])], "then", [], [value("p", None)])
    same = helper.make_graph([node("Identity", ["x"], ["q"])], "else", [], [value("q", None)])
    chosen = node("If", ["c"], ["y"], then_branch=product, else_branch=same)
    inputs = [value("x", ["N", "K"]), value("c", [], TensorProto.BOOL)]
    model = saved([chosen], inputs, {"w": WEIGHTS[:, :, 0, 0]})
    assert shapes(model) == ["f32[N,K]", "bool[]"]
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    found = compiler.compile(model).run({"x": x, "c": np.array(False)})
    assert np.array_equal(found["y"], x)
