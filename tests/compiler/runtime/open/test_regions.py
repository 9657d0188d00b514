"""Tests of control flow and recurrent layers with open sizes, against known sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import compiler
from compiler.ir.affine import substitute
from compiler.ir.types import TensorType
from compiler.runtime.compare import compare, worst
from compiler.runtime.inputs import random_inputs
from compiler.runtime.program import Program
from tests.onnx_models import BOOL, I64, graph, model, node, stored, value

SIZES = ((3, 2), (1, 1), (1, 7), (4, 1), (0, 2), (2, 0), (3, 2))
"""Numbers of iterations and of rows; one pair occurs twice."""


def text(signature: str, *lines: str) -> compiler.Graph:
    body = "\n".join(f"  {line}" for line in lines)
    return compiler.parse(f"graph g({signature}) {{\n{body}\n}}")


def loaded(made: Any) -> compiler.Graph:
    return compiler.load(made.SerializeToString())


def agrees(
    g: compiler.Graph,
    pipeline: str = "default",
    sizes: Sequence[tuple[int, int]] = SIZES,
    **fixed: Any,
) -> Program:
    """Check one program for all sizes against the reference and programs for known sizes."""
    program = compiler.compile(g, pipeline=pipeline)
    for seed, (steps, rows) in enumerate(sizes):
        shapes = {
            v.name: tuple(int(substitute(d, {"T": steps, "N": rows})) for d in v.type.dims)
            for v in g.inputs
            if isinstance(v.type, TensorType)
        }
        inputs = {**random_inputs(g, seed, shapes), **fixed}
        if "lengths" in inputs:
            inputs["lengths"] = (np.arange(rows) * 2 % (steps + 1)).astype(np.int32)
        got = program.run(inputs)
        known = compiler.compile(g, inputs=shapes, pipeline=pipeline)
        for needed in (compiler.reference(g, inputs), known.run(inputs)):
            assert {k: a.shape for k, a in got.items()} == {k: a.shape for k, a in needed.items()}
            assert worst(compare(got, needed)) < 1e-5, (steps, rows)
    assert not program.specializations, program.notes
    assert [k.because for k in program.kernels if not k.native] == []
    return program


LAYERS = {
    "lstm": (
        "x: f32[T,N,5], w: f32[2,16,5], r: f32[2,16,4], b: f32[2,32], lengths: i32[N], "
        "h: f32[2,N,4], c: f32[2,N,4], p: f32[2,12]",
        "y: f32[T,2,N,4], z: f32[2,N,4], v: f32[2,N,4] = "
        'lstm(x, w, r, b, lengths, h, c, p, direction="bidirectional")',
        "return y, z, v",
    ),
    "gru": (
        "x: f32[N,T,5], w: f32[1,12,5], r: f32[1,12,4], b: f32[1,24]",
        'y: f32[N,T,1,4], z: f32[N,1,4] = gru(x, w, r, b, layout=1, direction="reverse")',
        "return y, z",
    ),
    "rnn": (
        "x: f32[T,3,5], w: f32[1,4,5], r: f32[1,4,4]",
        "y: f32[T,1,3,4], z: f32[1,3,4] = rnn(x, w, r)",
        "return y, z",
    ),
}


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("pipeline", ["none", "default"])
def test_recurrent_layers_over_any_number_of_steps_and_rows(layer: str, pipeline: str) -> None:
    agrees(text(*LAYERS[layer]), pipeline)


def test_kernels_inside_are_listed_and_what_is_launched_is_timed() -> None:
    g = text(*LAYERS["gru"])
    program = agrees(g)
    (scan,) = (k for k in program.kernels if k.op == "onnx.Scan")
    inside = [k for k in program.kernels if k.inside]
    assert inside
    assert {k.inside for k in inside} == {scan.name}
    assert all(k.symbol and k.loops is not None for k in inside)
    inputs = random_inputs(g, 1, {v.name: (2, 3, 5) for v in g.inputs if v.name == "x"})
    timed = program.profile(inputs, repeat=1)
    assert list(timed) == [k.name for k in program.kernels if not k.inside]


OPEN = ("N", 3)


@pytest.mark.parametrize("c", [True, False])
def test_branches_of_open_sizes(c: bool) -> None:
    n = node(
        "If",
        ["c"],
        ["y"],
        then_branch=graph(
            [
                node("Concat", ["x", "w"], ["j"], axis=0),
                node("Softmax", ["j"], ["k"], axis=0),
                node("MatMul", ["k", "v"], ["t"]),
            ],
            outputs=[value("t", None)],
        ),
        else_branch=graph(
            [node("Exp", ["x"], ["e"]), node("Concat", ["w", "e"], ["t"], axis=0)],
            outputs=[value("t", None)],
        ),
    )
    weights = [stored("w", [[1, 2, 3]], np.float32), stored("v", np.eye(3), np.float32)]
    made = model([n], [value("x", OPEN), value("c", (), BOOL)], [value("y", None)], weights)
    agrees(loaded(made), c=np.array(c))


@pytest.mark.parametrize("steps", [0, 1, 2, 5])
def test_a_loop_over_states_of_open_sizes(steps: int) -> None:
    inside = graph(
        [
            node("Mul", ["s", "x"], ["m"]),
            node("ReduceSum", ["m"], ["r"], keepdims=1),
            node("Add", ["s", "r"], ["p"]),
            node("Sigmoid", ["p"], ["t"]),
            node("Identity", ["going"], ["on"]),
            node("Identity", ["u"], ["u2"]),
        ],
        [value("i", (), I64), value("going", (), BOOL), value("s", None), value("u", None)],
        [value("on", None), value("t", None), value("u2", None)],
    )
    loop = node("Loop", ["m0", "", "x", "x"], ["y", "z"], body=inside)
    made = model(
        [loop], [value("x", OPEN), value("m0", (), I64)], [value("y", None), value("z", None)]
    )
    agrees(loaded(made), m0=np.array(steps))


def test_scans_in_a_scan_from_either_end() -> None:
    row = graph(
        [node("Add", ["s1", "e"], ["n1"]), node("Mul", ["n1", "e"], ["o1"])],
        [value("s1", None), value("e", None)],
        [value("n1", None), value("o1", None)],
    )
    step = graph(
        [
            node(
                "Scan",
                ["s0", "r"],
                ["n0", "o0"],
                body=row,
                num_scan_inputs=1,
                scan_output_directions=[1],
            ),
            node("Add", ["n0", "a"], ["k0"]),
        ],
        [value("s0", None), value("r", None)],
        [value("k0", None), value("o0", None)],
    )
    scan = node(
        "Scan", ["a", "x"], ["y", "z"], body=step, num_scan_inputs=1, scan_input_directions=[1]
    )
    inputs = [value("x", ("T", "N", 3)), value("a", (3,))]
    g = loaded(model([scan], inputs, [value("y", None), value("z", None)]))
    # The reference learns the sizes of scan outputs from an iteration.
    agrees(g, sizes=[(t, n) for t, n in SIZES if t and n])


def test_sizes_that_one_branch_does_not_fit_get_code_of_their_own() -> None:
    n = node(
        "If",
        ["c"],
        ["y"],
        then_branch=graph([node("Add", ["x", "z"], ["t"])], outputs=[value("t", None)]),
        else_branch=graph([node("Add", ["z", "x"], ["t"])], outputs=[value("t", None)]),
    )
    inputs = [value("x", OPEN), value("z", ("T", 3)), value("c", (), BOOL)]
    program = compiler.compile(loaded(model([n], inputs, [value("y", None)])))
    x, z = np.ones((2, 3), np.float32), np.full((1, 3), 2, np.float32)
    np.testing.assert_array_equal(program.run({"x": x, "z": z, "c": np.array(True)})["y"], x + z)
    with pytest.raises(compiler.CompileError) as caught:
        program.run({"x": x, "z": np.ones((4, 3), np.float32), "c": np.array(True)})
    assert caught.value.code == "E-RUN-OPERATOR"
