"""Tests of If, Loop, Scan and SequenceMap: types from their regions, results as in ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

import compiler
from compiler.errors import CompileError
from compiler.frontend import load
from compiler.ir.graph import Graph, all_nodes
from compiler.ir.infer import specialize
from compiler.ir.verify import verify
from compiler.reference import reference
from tests.onnx_models import BOOL, I64, graph, model, node, stored, value

X = np.array([[-1, 2, -3], [4, -5, 6]], np.float32)
C = value("c", (), BOOL)


def checked(made: onnx.ModelProto) -> Graph:
    g = load(made.SerializeToString())
    verify(g)
    assert compiler.parse(str(g)) == g
    return g


def ran(made: onnx.ModelProto, **inputs: Any) -> list[Any]:
    return list(reference(checked(made), inputs).values())


def branches(then: list[Any], other: list[Any]) -> Any:
    return node(
        "If",
        ["c"],
        ["y"],
        then_branch=graph(then, outputs=[value("t", None)]),
        else_branch=graph(other, outputs=[value("t", None)]),
        name="choice",
    )


def test_a_condition_runs_one_branch_with_values_from_around() -> None:
    n = branches([node("Add", ["x", "x"], ["t"])], [node("Neg", ["x"], ["t"])])
    made = model([n], [value("x"), C])
    assert str(checked(made).outputs[0].type) == "f32[2,3]"
    np.testing.assert_array_equal(ran(made, x=X, c=np.array(True))[0], X + X)
    np.testing.assert_array_equal(ran(made, x=X, c=np.array([False]).reshape(()))[0], -X)


def test_branches_of_different_shapes_leave_sizes_open() -> None:
    concat = node("Concat", ["x", "x"], ["t"], axis=0)
    made = model([branches([concat], [node("Neg", ["x"], ["t"])])], [value("x"), C])
    made.graph.output[0].type.tensor_type.ClearField("shape")
    assert str(checked(made).outputs[0].type) == "f32[y_d0,3]"
    total = node("ReduceSum", ["x"], ["t"], keepdims=0)
    flat = branches([node("Flatten", ["x"], ["t"], axis=0)], [total])
    made = model([flat], [value("x"), C], [value("y", None)])
    assert str(checked(made).outputs[0].type) == "f32[...]"


def test_a_branch_may_hand_a_value_from_around_straight_on() -> None:
    n = branches([], [node("Neg", ["x"], ["t"])])
    n.attribute[[a.name for a in n.attribute].index("then_branch")].g.output[0].name = "x"
    made = model([n], [value("x"), C])
    assert str(checked(made).outputs[0].type) == "f32[2,3]"
    np.testing.assert_array_equal(ran(made, x=X, c=np.array(True))[0], X)


def test_a_name_in_a_branch_may_hide_one_from_around() -> None:
    inner = [node("Neg", ["x"], ["h"]), node("Abs", ["h"], ["t"])]
    made = model([node("Exp", ["x"], ["h"]), branches(inner, inner)], [value("x"), C])
    made.graph.output.append(value("h"))
    g = checked(made)
    names = [o for n in all_nodes(g) for o in n.outputs]
    assert "h" in names
    got = ran(made, x=X, c=np.array(True))
    np.testing.assert_array_equal(got[0], np.abs(X))
    np.testing.assert_allclose(got[1], np.exp(X), rtol=1e-6)


def test_open_sizes_close_inside_regions_too() -> None:
    n = branches([node("Add", ["x", "x"], ["t"])], [node("Neg", ["x"], ["t"])])
    g = checked(model([n], [value("x", ("N", 3)), C], [value("y", ("N", 3))]))
    closed = specialize(g, {"x": (5, 3)})
    verify(closed)
    assert {str(m.type) for m in all_nodes(closed)} == {"f32[5,3]"}


def loop(body: Any, inputs: list[str], outputs: list[str]) -> Any:
    return node("Loop", inputs, outputs, body=body, name="loop")


def counting_body(keep_going: list[Any], state_shape: Any = (2, 3)) -> Any:
    nodes = [
        *keep_going,
        node("Cast", ["i"], ["f"], to=1),
        node("Add", ["s", "f"], ["s2"]),
        node("ReduceSum", ["s2"], ["p"], keepdims=0),
    ]
    inputs = [value("i", (), I64), value("g", (), BOOL), value("s", state_shape)]
    outputs = [value("g2", (), BOOL), value("s2", state_shape), value("p", ())]
    return graph(nodes, inputs, outputs)


def test_a_loop_counts_carries_states_and_piles_up_values() -> None:
    body = counting_body([node("Identity", ["g"], ["g2"])])
    outputs = [value("y"), value("z", None)]
    made = model(
        [loop(body, ["n", "", "x"], ["y", "z"])], [value("x"), value("n", (), I64)], outputs
    )
    g = checked(made)
    assert [str(v.type) for v in g.outputs] == ["f32[2,3]", "f32[z_d0]"]
    state, sums = reference(g, {"x": X, "n": np.array(3)}).values()
    np.testing.assert_array_equal(state, X + 3)
    np.testing.assert_array_equal(sums, [3, 9, 21])
    state, sums = reference(g, {"x": X, "n": np.array(0)}).values()
    np.testing.assert_array_equal(state, X)
    assert (sums.shape, sums.dtype) == ((0,), np.float32)


def test_a_loop_ends_when_its_condition_does() -> None:
    going = [node("Less", ["i", "two"], ["g2"])]
    body = counting_body(going)
    made = model(
        [loop(body, ["", "c", "x"], ["y", "z"])],
        [value("x"), C],
        [value("y"), value("z", None)],
        [stored("two", 2, np.int64)],
    )
    np.testing.assert_array_equal(ran(made, x=X, c=np.array(True))[0], X + 3)
    np.testing.assert_array_equal(ran(made, x=X, c=np.array(False))[0], X)


def test_a_state_that_grows_has_an_open_size() -> None:
    nodes = [node("Identity", ["g"], ["g2"]), node("Concat", ["s", "s"], ["s2"], axis=0)]
    body = graph(
        nodes,
        [value("i", (), I64), value("g", (), BOOL), value("s", ("k", 3))],
        [value("g2", (), BOOL), value("s2", None)],
    )
    made = model(
        [loop(body, ["n", "", "x"], ["y"])], [value("x"), value("n", (), I64)], [value("y", None)]
    )
    g = checked(made)
    assert str(g.outputs[0].type) == "f32[y_d0,3]"
    assert reference(g, {"x": X, "n": np.array(3)})["y"].shape == (16, 3)


def scan_body() -> Any:
    nodes = [node("Add", ["s", "r"], ["s2"]), node("Mul", ["s2", "r"], ["o"])]
    return graph(nodes, [value("s", None), value("r", None)], [value("s2", None), value("o", None)])


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("backwards", [0, 1])
@pytest.mark.parametrize("out_axis", [0, 1, -1])
def test_a_scan_follows_axes_and_directions(axis: int, backwards: int, out_axis: int) -> None:
    n = node(
        "Scan",
        ["s0", "x"],
        ["y", "z"],
        body=scan_body(),
        num_scan_inputs=1,
        scan_input_axes=[axis],
        scan_input_directions=[backwards],
        scan_output_axes=[out_axis],
        scan_output_directions=[backwards],
    )
    width = X.shape[1 - axis]
    inputs = [value("s0", (width,)), value("x")]
    made = model([n], inputs, [value("y", (width,)), value("z", None)])
    state, piled = ran(made, s0=np.zeros(width, np.float32), x=X)
    rows = np.moveaxis(X, axis, 0)
    order = rows[::-1] if backwards else rows
    sums = np.cumsum(order, axis=0)
    products = sums * order
    np.testing.assert_array_equal(state, sums[-1])
    expected = np.stack(list(products[::-1] if backwards else products), axis=out_axis)
    np.testing.assert_array_equal(piled, expected)


def test_a_scan_of_opset_8_has_a_batch_and_lengths() -> None:
    n = node("Scan", ["len", "s0", "x"], ["y", "z"], body=scan_body(), num_scan_inputs=1)
    inputs = [value("len", (2,), I64), value("s0", (2, 3)), value("x", (2, 4, 3))]
    made = model([n], inputs, [value("y", (2, 3)), value("z", (2, 4, 3))], opset=8)
    x = np.random.default_rng(0).normal(size=(2, 4, 3)).astype(np.float32)
    state, piled = ran(made, len=np.array([4, 2]), s0=np.zeros((2, 3), np.float32), x=x)
    np.testing.assert_allclose(state, [x[0].sum(0), x[1, :2].sum(0)], rtol=1e-6)
    np.testing.assert_allclose(piled[0], np.cumsum(x[0], 0) * x[0], rtol=1e-6)
    assert not piled[1, 2:].any()


def test_a_sequence_map_runs_its_body_on_each_element() -> None:
    body = graph(
        [node("Mul", ["e", "f"], ["o"])], [value("e", None), value("f", None)], [value("o")]
    )
    nodes = [
        node("SequenceConstruct", ["x", "w"], ["s"]),
        node("SequenceMap", ["s", "x"], ["m"], body=body),
        node("ConcatFromSequence", ["m"], ["y"], axis=0),
    ]
    made = model(nodes, [value("x"), value("w")], [value("y", None)])
    (got,) = ran(made, x=X, w=X + 1)
    np.testing.assert_array_equal(got, np.concatenate([X * X, (X + 1) * X]))


def test_an_error_inside_a_region_names_the_node_inside() -> None:
    inner = node("Gather", ["x", "i"], ["t"], name="inner")
    made = model(
        [branches([inner], [node("Neg", ["x"], ["t"])])], [value("x"), C, value("i", (2, 3), I64)]
    )
    g = checked(made)
    with pytest.raises(CompileError) as caught:
        reference(g, {"x": X, "c": np.array(True), "i": np.full((2, 3), 9)})
    assert caught.value.code == "E-RUN-OPERATOR"
    assert caught.value.where.node == "inner"


def test_the_state_of_a_scan_over_another_axis_may_be_a_captured_value() -> None:
    """The second state is invariant, so the first one becomes a captured value."""
    copies = [node("Identity", ["b"], ["a2"]), node("Identity", ["b"], ["b2"])]
    sums = [node("ReduceSum", ["e"], ["total"], keepdims=0)]
    taken = [value("a", (5,)), value("b", (5,)), value("e", (3,))]
    body = graph([*copies, *sums], taken, [value(n, None) for n in ("a2", "b2", "total")])
    attrs = {"num_scan_inputs": 1, "scan_input_axes": [1]}
    n = node("Scan", ["a0", "c", "x"], ["y", "w", "z"], body=body, **attrs)
    inputs = [value("a0", (5,)), value("c", (5,)), value("x", (3, 4))]
    made = model([n], inputs, [value(o, None) for o in "ywz"])
    c = np.linspace(-1, 2, 5, dtype=np.float32)
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    passes = "simplify,simplify_loops,decompose_recurrent"
    program = compiler.compile(checked(made), pipeline=passes)
    found = program.run({"a0": np.zeros_like(c), "c": c, "x": x})
    np.testing.assert_array_equal(found["y"], c)
    np.testing.assert_array_equal(found["w"], c)
    np.testing.assert_array_equal(found["z"], x.sum(0))
