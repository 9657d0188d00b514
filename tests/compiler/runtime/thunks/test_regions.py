"""Tests of If, Loop and Scan as a single launch, against the reference, without fallbacks."""

from __future__ import annotations

from time import process_time
from typing import Any

import numpy as np
import pytest

import compiler
from compiler.errors import CompileError
from compiler.ir.graph import Graph
from compiler.ops.control_flow import control
from compiler.runtime.program import Program
from tests.onnx_models import BOOL, I64, graph, model, node, stored, value

X = np.array([[-1, 2, -3], [4, -5, 6]], np.float32)
C = value("c", (), BOOL)
SCAN = {"num_scan_inputs": 1}


def compiled(made: Any, pipeline: str = "none") -> tuple[Graph, Program]:
    g = compiler.load(made.SerializeToString())
    return g, compiler.compile(g, pipeline=pipeline)


def agree(made: Any, **inputs: Any) -> Program:
    """Check a program without passes, and one with all passes and no fallback, by the reference."""
    for pipeline in ("none", "default"):
        g, program = compiled(made, pipeline)
        whys = [f"{k.op}: {k.because}" for k in program.kernels if not k.native]
        assert pipeline == "none" or not whys, f"{pipeline}: {whys}"
        expected, got = compiler.reference(g, inputs), program.run(inputs)
        for name, a in expected.items():
            assert got[name].shape == a.shape, f"{pipeline}, {name}"
            np.testing.assert_allclose(
                got[name], a, rtol=1e-5, atol=1e-6, err_msg=f"{pipeline}, {name}"
            )
    return program


def an_if(then: list[Any], other: list[Any], results: tuple[str, str] = ("t", "t")) -> Any:
    return node(
        "If",
        ["c"],
        ["y"],
        then_branch=graph(then, outputs=[value(results[0], None)]),
        else_branch=graph(other, outputs=[value(results[1], None)]),
    )


def a_loop(
    body: list[Any],
    results: list[str],
    inputs: tuple[str, ...] = ("m", "c"),
    outputs: tuple[str, ...] = ("y",),
    states: tuple[str, ...] = ("s",),
    starts: tuple[str, ...] = ("x",),
    constants: tuple[Any, ...] = (),
) -> Any:
    inside = graph(
        body,
        [value("i", (), I64), value("going", (), BOOL), *(value(s, None) for s in states)],
        [value(r, None) for r in results],
        constants,
    )
    return node("Loop", [*inputs, *starts], list(outputs), body=inside)


def a_scan(body: list[Any], inputs: list[str], results: list[str], n: int = 1, **attrs: Any) -> Any:
    states = len(inputs) - n
    given = [f"s{k}" if k < states else f"r{k - states}" for k in range(len(inputs))]
    inside = graph(body, [value(g, None) for g in given], [value(r, None) for r in results])
    outputs = ["y", "z", "w"][: len(results)]
    return node("Scan", inputs, outputs, body=inside, num_scan_inputs=n, **attrs)


ANY = [value("y", None)]
TWICE = [node("Add", ["s0", "r0"], ["t"]), node("Identity", ["t"], ["t2"])]


@pytest.mark.parametrize("c", [True, False])
def test_an_if_is_one_launch(c: bool) -> None:
    n = an_if(
        [node("Add", ["x", "w"], ["t"])], [node("Neg", ["x"], ["h"]), node("Exp", ["h"], "t")]
    )
    weights = stored("w", [3, 1, 2], np.float32)
    program = agree(model([n], [value("x"), C], None, [weights]), x=X, c=np.array(c))
    assert len([k for k in program.kernels if not k.inside]) == 1
    assert {k.inside for k in program.kernels if k.inside} == {program.kernels[0].name}


@pytest.mark.parametrize("c", [True, False])
def test_branches_hand_on_captured_values_and_constants(c: bool) -> None:
    n = an_if([], [node("Identity", ["w"], ["t"])], ("x", "t"))
    made = model([n], [value("x"), C], None, [stored("w", -X, np.float32)])
    agree(made, x=X, c=np.array(c))


@pytest.mark.parametrize("c", [True, False])
@pytest.mark.parametrize("d", [True, False])
def test_an_if_in_an_if(c: bool, d: bool) -> None:
    inner = node(
        "If",
        ["d"],
        ["t"],
        then_branch=graph([node("Mul", ["h", "x"], ["u"])], outputs=[value("u", None)]),
        else_branch=graph([node("Sub", ["h", "x"], ["u"])], outputs=[value("u", None)]),
    )
    n = an_if([node("Exp", ["x"], ["h"]), inner], [node("Abs", ["x"], ["t"])])
    made = model([n], [value("x"), C, value("d", (), BOOL)])
    agree(made, x=X, c=np.array(c), d=np.array(d))


@pytest.mark.parametrize("steps", [0, 1, 2, 5])
@pytest.mark.parametrize("c", [True, False])
def test_a_loop_with_a_count_that_the_run_gives(steps: int, c: bool) -> None:
    body = [node("Add", ["s", "x"], ["t"]), node("Identity", ["going"], ["on"])]
    made = model([a_loop(body, ["on", "t"])], [value("x"), value("m", (), I64), C])
    agree(made, x=X, m=np.array(steps), c=np.array(c))


@pytest.mark.parametrize("steps", [0, 1, 2, 3])
def test_a_loop_with_pieces_needs_its_count_at_compile_time(steps: int) -> None:
    body = [
        node("Mul", ["s", "x"], ["t"]),
        node("Cast", ["i"], ["f"], to=1),
        node("Add", ["t", "f"], ["piece"]),
        node("Identity", ["t"], ["t2"]),
        node("Identity", ["going"], ["on"]),
    ]
    n = a_loop(body, ["on", "t", "piece", "t2"], ("m", ""), ("y", "pieces", "states"))
    outputs = [value("y", None), value("pieces", None), value("states", None)]
    made = model([n], [value("x")], outputs, [stored("m", steps, np.int64)])
    program = agree(made, x=X)
    assert program.run({"x": X})["pieces"].shape == (steps, 2, 3)


@pytest.mark.parametrize("limit", [2, 100])
def test_a_loop_ends_by_its_condition(limit: int) -> None:
    body = [
        node("Add", ["s", "s"], ["t"]),
        node("ReduceMax", ["t"], ["top"], keepdims=0),
        node("Less", ["top", "end"], ["on"]),
    ]
    n = a_loop(body, ["on", "t"], ("m", ""))
    constants = [stored("m", limit, np.int64), stored("end", 50, np.float32)]
    agree(model([n], [value("x")], None, constants), x=X)


def test_states_may_swap_and_stay_and_be_constants() -> None:
    body = [
        node("Identity", ["going"], ["on"]),
        node("Add", ["stays", "b"], ["c2"]),
        node("Identity", ["one"], ["k"]),
    ]
    n = a_loop(
        body,
        ["on", "b", "a", "stays", "c2", "k"],
        ("m", ""),
        ("y", "y2", "y3", "y4", "y5"),
        ("a", "b", "stays", "c1", "k0"),
        ("x", "w", "x", "w", "x"),
    )
    n.attribute[0].g.initializer.append(stored("one", np.full((2, 3), 7), np.float32))
    for steps in (0, 1, 2, 3):
        made = model(
            [n],
            [value("x"), value("w")],
            [value(o, None) for o in n.output],
            [stored("m", steps, np.int64)],
        )
        agree(made, x=X, w=X.T.reshape(2, 3).copy())


def test_a_loop_may_hand_on_what_it_captures_and_leave_outputs_out() -> None:
    body = [node("Identity", ["going"], ["on"]), node("Neg", ["s"], ["t"])]
    n = a_loop(body, ["on", "t", "x"], ("m", ""), ("", "y"))
    made = model([n], [value("x")], ANY, [stored("m", 3, np.int64)])
    agree(made, x=X)


def test_a_loop_in_a_loop_reads_states_of_both() -> None:
    inner = node(
        "Loop",
        ["i", "", "s"],
        ["t"],
        body=graph(
            [
                node("Add", ["q", "s"], ["q2"]),
                node("Add", ["q2", "x"], ["q3"]),
                node("Identity", ["g2"], ["on2"]),
            ],
            [value("j", (), I64), value("g2", (), BOOL), value("q", None)],
            [value("on2", None), value("q3", None)],
        ),
    )
    n = a_loop([inner, node("Identity", ["going"], ["on"])], ["on", "t"], ("m", ""))
    agree(model([n], [value("x")], None, [stored("m", 4, np.int64)]), x=X)


@pytest.mark.parametrize("forward", [0, 1])
@pytest.mark.parametrize("backward", [0, 1])
def test_a_scan_reads_and_writes_in_any_direction(forward: int, backward: int) -> None:
    body = [node("Add", ["s0", "r0"], ["t"]), node("Mul", ["t", "r0"], ["p"])]
    n = a_scan(
        body,
        ["v", "x"],
        ["t", "p"],
        scan_input_directions=[forward],
        scan_output_directions=[backward],
    )
    made = model([n], [value("x", (4, 3)), value("v", (3,))], [*ANY, value("z", None)])
    rng = np.random.default_rng(0)
    agree(made, x=rng.random((4, 3), np.float32), v=rng.random(3, np.float32))


def test_a_scan_of_nothing_gives_nothing() -> None:
    n = a_scan(TWICE, ["v", "x"], ["t", "t2"])
    made = model([n], [value("x", (0, 3)), value("v", (3,))], [*ANY, value("z", None)])
    agree(made, x=np.zeros((0, 3), np.float32), v=np.arange(3, dtype=np.float32))


def test_a_result_of_a_scan_is_read_by_nodes_behind_it() -> None:
    n = a_scan(TWICE, ["v", "x"], ["t", "t2"])
    behind = node("MatMul", ["z", "y"], ["q"])
    made = model([n, behind], [value("x", (4, 3)), value("v", (3,))], [value("q", None)])
    rng = np.random.default_rng(1)
    agree(made, x=rng.random((4, 3), np.float32), v=rng.random(3, np.float32))


def test_a_product_inside_a_loop_reads_packed_weights() -> None:
    rng = np.random.default_rng(2)
    w = stored("w", rng.standard_normal((40, 40)) / 6, np.float32)
    n = a_scan(
        [
            node("MatMul", ["s0", "w"], ["h"]),
            node("Add", ["h", "r0"], ["g"]),
            node("Tanh", ["g"], ["t"]),
            node("Identity", ["t"], ["t2"]),
        ],
        ["v", "x"],
        ["t", "t2"],
    )
    made = model([n], [value("x", (9, 2, 40)), value("v", (2, 40))], [*ANY, value("z", None)], [w])
    x = rng.standard_normal((9, 2, 40)).astype(np.float32)
    program = agree(made, x=x, v=np.zeros((2, 40), np.float32))
    products = [k for k in program.kernels if k.op in ("matmul", "fusion")]
    assert sum(k.flops for k in products) >= 9 * 2 * 2 * 40 * 40


@pytest.mark.parametrize("axis", [1, -1])
@pytest.mark.parametrize("back", [0, 1])
def test_a_scan_over_another_axis_has_transposes_around_it(axis: int, back: int) -> None:
    n = a_scan(
        TWICE,
        ["v", "x"],
        ["t", "t2"],
        scan_input_axes=[axis],
        scan_input_directions=[back],
        scan_output_axes=[axis],
    )
    made = model([n], [value("x", (3, 4)), value("v", (3,))], [*ANY, value("z", None)])
    rng = np.random.default_rng(3)
    agree(made, x=rng.random((3, 4), np.float32), v=rng.random(3, np.float32))


def test_a_body_that_the_reference_drives_is_compiled_all_the_same() -> None:
    """The number of scan outputs is known only at the end, but the body can be compiled."""
    body = [
        node("MatMul", ["s", "w"], ["t"]),
        node("ReduceMax", ["t"], ["top"], keepdims=0),
        node("Less", ["top", "end"], ["on"]),
        node("Identity", ["t"], ["t2"]),
    ]
    n = a_loop(body, ["on", "t", "t2"], ("m", ""), ("y", "pieces"))
    constants = [
        stored("m", 9, np.int64),
        stored("end", 500, np.float32),
        stored("w", np.eye(3) * 3, np.float32),
    ]
    made = model([n], [value("x")], [*ANY, value("pieces", None)], constants)
    g, program = compiled(made, "default")
    (loop,) = (k for k in program.kernels if not k.inside)
    assert not loop.native
    assert "only when the loop ends" in loop.because
    inside = [k for k in program.kernels if k.inside == loop.name]
    assert inside
    assert all(k.native for k in inside)
    expected, got = compiler.reference(g, {"x": X}), program.run({"x": X})
    assert got["pieces"].shape == expected["pieces"].shape == (5, 2, 3)
    np.testing.assert_allclose(got["pieces"], expected["pieces"])


def test_code_is_made_for_the_count_that_a_run_gives() -> None:
    """Scan outputs make the trip count a parameter, because it determines the size of a result."""
    body = [node("Add", ["s", "x"], ["t"]), node("Identity", ["going"], ["on"])]
    body.append(node("Identity", ["t"], ["t2"]))
    n = a_loop(body, ["on", "t", "t2"], ("m", ""), ("y", "pieces"))
    made = model([n], [value("x"), value("m", (), I64)], [*ANY, value("pieces", None)])
    g, program = compiled(made, "default")
    for steps in (3, 1):
        inputs = {"x": X, "m": np.array(steps)}
        expected, got = compiler.reference(g, inputs), program.run(inputs)
        np.testing.assert_array_equal(got["pieces"], expected["pieces"])
        assert all(k.native for k in program.kernels)


def test_a_loop_that_nothing_ends_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "STEPS_LIMIT", 50)
    body = [node("Neg", ["s"], ["t"]), node("Identity", ["going"], ["on"])]
    made = model([a_loop(body, ["on", "t"], ("", ""))], [value("x")])
    _, program = compiled(made, "default")
    with pytest.raises(CompileError) as caught:
        program.run({"x": X})
    assert caught.value.code == "E-RUN-ENDLESS"


def test_depth_of_branches_costs_no_more_than_it_has_nodes() -> None:
    inner = [node("Neg", ["x"], ["t"])]
    for depth in range(11):
        name = f"t{depth}"
        last = inner[-1].output[0]
        branches = {
            key: graph(inner, outputs=[value(last, None)], name=f"{key}{depth}")
            for key in ("then_branch", "else_branch")
        }
        inner = (
            [node("If", ["c"], [name], **branches)]
            if depth < 3
            else [
                node(
                    "If",
                    ["c"],
                    [name],
                    then_branch=graph(inner, outputs=[value(last, None)]),
                    else_branch=graph(
                        [node("Abs", ["x"], [f"a{depth}"])], outputs=[value(f"a{depth}", None)]
                    ),
                )
            ]
        )
    made = model(inner, [value("x"), C], [value(inner[-1].output[0], None)])
    start = process_time()
    agree(made, x=X, c=np.array(True))
    assert process_time() - start < 60


def test_texts_and_times_of_programs_with_regions() -> None:
    n = an_if([node("Exp", ["x"], ["t"])], [node("Neg", ["x"], ["t"])])
    _, program = compiled(model([n], [value("x"), C]))
    loops = str(program.emit("loops"))
    assert "exp" in loops
    assert "neg" in loops
    assert 'call void @"if_then_branch"' in str(program.emit("llvm"))
    assert "if_then_branch" in str(program.emit("asm"))
    seconds = program.profile({"x": X, "c": np.array(True)}, repeat=2)
    assert list(seconds) == [k.name for k in program.kernels if not k.inside]
