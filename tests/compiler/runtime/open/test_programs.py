"""Tests of programs for all sizes: data-dependent sizes, buckets, inconsistent sizes."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import compiler
from compiler.errors import CompileError
from compiler.ir.types import tensor
from compiler.runtime.compare import compare, worst
from compiler.runtime.inputs import random_inputs
from compiler.runtime.program import Program


def graph(signature: str, *lines: str) -> compiler.Graph:
    body = "\n".join(f"  {line}" for line in lines)
    return compiler.parse(f"graph g({signature}) {{\n{body}\n}}")


def agrees(program: Program, inputs: dict[str, Any]) -> None:
    made, needed = program.run(inputs), compiler.reference(program.source, inputs)
    assert list(made) == list(needed)
    assert worst(compare(made, needed)) < 1e-5


FOUND = graph(
    "x: f32[N,4]",
    "a: f32[N,4] = relu(x)",
    "i: i64[2,K] = onnx.NonZero(a, opset=13)",
    "t: i64[K,2] = transpose(i, perm=[1,0])",
    "b: f32[K,2] = cast(t, to=f32)",
    "c: f32[K,2] = exp(b)",
    "return c, a",
)


def test_what_needs_a_size_that_data_decide_runs_once_it_is_known() -> None:
    program = compiler.compile(FOUND)
    for n in (3, 0, 9, 3):
        agrees(program, random_inputs(FOUND, n, {"x": (n, 4)}))
    assert not program.specializations
    assert len({k.name for k in program.kernels}) == len(program.kernels)
    times = program.profile(random_inputs(FOUND, 1, {"x": (5, 4)}), repeat=2)
    assert list(times) == [k.name for k in program.kernels]


ROWS = graph(
    "x: f32[N,6], w: f32[6,5]",
    "h: f32[N,5] = matmul(x, w)",
    "y: f32[N,5] = softmax(h, axis=1)",
    "return y",
)


CUT = graph(
    "x: f32[90], y: f32[2,60], counted: f32[90]",
    "ones: i64[90] = cast(counted, to=i64)",
    "n: i64[] = reduce_sum(ones, axes=[0], keepdims=false)",
    "a: f32[K] = leading(x, n)",
    "b: f32[2,K] = leading(y, n, axis=1)",
    "c: f32[K] = relu(a)",
    "d: f32[2,K] = neg(b)",
    "return a, again=a, b, c, d, x",
)


@pytest.mark.parametrize("n", [0, 4, 60])
def test_counted_results_are_arrays_of_their_own(n: int) -> None:
    program = compiler.compile(CUT)
    x, y = np.arange(90, dtype=np.float32) - 3, np.float32(np.arange(120)).reshape(2, 60)
    made = program.run({"x": x, "y": y, "counted": np.float32(np.arange(90) < n)})
    assert program.serves_all_sizes
    assert made["b"].tolist() == y[:, :n].tolist()
    assert made["c"].tolist() == np.maximum(x[:n], 0).tolist()
    pairs = itertools.combinations([*made.values(), x, y], 2)
    assert not any(np.shares_memory(one, other) for one, other in pairs)


def test_a_count_that_two_rooms_do_not_share_is_an_error() -> None:
    zeros, ones = np.zeros((2, 90), np.float32), np.float32(np.arange(90) < 80)
    with pytest.raises(CompileError, match="'b' is recorded as") as e:
        compiler.compile(CUT).run({"x": zeros[0], "y": zeros[:, :60], "counted": ones})
    assert e.value.code == "E-GRAPH-TYPE"


def test_inputs_are_checked_after_good_ones_as_before() -> None:
    program = compiler.compile(ROWS)
    good = random_inputs(ROWS, 1, {"x": (3, 6)})
    agrees(program, good)
    for wrong in (
        {**good, "x": good["x"].astype(np.float64)},
        {**good, "x": good["x"][:, :5]},
        {"x": good["x"]},
        {**good, "z": good["x"]},
    ):
        with pytest.raises(CompileError, match="E-INPUT"):
            program.run(wrong)
    agrees(program, {**good, "x": np.asfortranarray(good["x"][::-1])})


def test_rows_that_do_not_meet_are_padded_up_to_the_smallest_bucket() -> None:
    program = compiler.compile(ROWS, buckets={"N": [8, 2]})
    assert [dict(b.sizes) for b in program.buckets] == [{"N": 2}, {"N": 8}]
    assert [dict(b.smallest) for b in program.buckets] == [{"N": 1}, {"N": 3}]
    assert program.buckets[1].waste == pytest.approx(1 - 3 / 8)
    assert any("N=8" in note and "which wastes up to 62%" in note for note in program.notes)
    for n in (0, 1, 2, 3, 8, 9):
        agrees(program, random_inputs(ROWS, n, {"x": (n, 6)}))
    assert program.buckets[1].program.kernels[0].flops > 0


@pytest.mark.parametrize(
    ("signature", "lines"),
    [
        ("x: f32[N,6]", ("y: f32[6] = reduce_sum(x, axes=[0], keepdims=false)",)),
        ("x: f32[N,6]", ("y: f32[6,N] = transpose(x, perm=[1,0])",)),
        ("x: f32[N,6], z: f32[N,6]", ("y: f32[N+N,6] = concat(x, z, axis=0)",)),
        ("x: f32[N,6]", ("y: f32[N,6] = softmax(x, axis=0)",)),
    ],
    ids=["summed", "turned", "joined", "normalised"],
)
def test_rows_that_meet_are_never_padded(signature: str, lines: tuple[str, ...]) -> None:
    g = graph(signature, *lines, "return y")
    program = compiler.compile(g, buckets={"N": [4]})
    assert program.buckets[0].waste == 0
    for n in (3, 4):
        agrees(program, random_inputs(g, n, {v.name: (n, 6) for v in g.inputs}))


@pytest.mark.parametrize("buckets", [{"M": [1]}, {"N": []}, {"N": [1.5]}, {"N": 3}, [1]])
def test_buckets_name_open_sizes_and_whole_numbers(buckets: Any) -> None:
    with pytest.raises(CompileError) as caught:
        compiler.compile(ROWS, buckets=buckets)
    assert caught.value.code == "E-OPTION-VALUE"


def test_sizes_that_symbols_allowed_and_numbers_do_not_are_an_error() -> None:
    g = graph("x: f32[N,4], y: f32[M,4]", "z: f32[max(M,N),4] = add(x, y)", "return z")
    program = compiler.compile(g)
    agrees(program, random_inputs(g, 1, {"x": (3, 4), "y": (1, 4)}))
    with pytest.raises(CompileError) as caught:
        program.run(random_inputs(g, 1, {"x": (3, 4), "y": (2, 4)}))
    assert caught.value.code == "E-OP-SHAPE"


@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap"])
def test_an_empty_axis_is_not_continued(mode: str) -> None:
    pad = f'p: f32[N+3,4] = pad(a, pads, mode="{mode}")'
    lines = ("const pads: i64[4] = literal(1,0,2,0)", "a: f32[N,4] = relu(x)", pad)
    g = graph("x: f32[N,4]", *lines, "y: f32[N+3,4] = exp(p)", "return y")
    program = compiler.compile(g)
    agrees(program, random_inputs(g, 1, {"x": (3, 4)}))
    for run in (program.run, lambda inputs: compiler.reference(g, inputs)):
        with pytest.raises(CompileError) as caught:
            run({"x": np.ones((0, 4), np.float32)})
        assert caught.value.code in ("E-OP-SHAPE", "E-RUN-OPERATOR")
    with pytest.raises(CompileError) as caught:
        compiler.compile(g, inputs={"x": (0, 4)})
    assert caught.value.code == "E-OP-SHAPE"


def test_a_size_on_record_that_is_wrong_gets_code_of_its_own() -> None:
    g = compiler.parse("graph g(x: f32[N,4]) {\n  y: f32[N,4] = relu(x)\n  return y\n}")
    node = g.nodes[0]
    wrong = replace(node, types=(tensor("f32[3,4]"),))
    program = compiler.compile(replace(g, nodes=(wrong,)), verify=False, pipeline="none")
    x = np.arange(20, dtype=np.float32).reshape(5, 4)
    np.testing.assert_array_equal(program.run({"x": x})["y"], x)


WINDOWS = graph(
    "x: f32[1,3,N]",
    "const w: f32[2,3,100] = splat(0.5)",
    "a: f32[1,3,N] = relu(x)",
    "y: f32[1,2,N-99] = conv(a, w, strides=[1], pads=[0,0], dilations=[1], groups=1)",
    "z: f32[1,2,N-99] = tanh(y)",
    "return y, z",
)


def test_the_example_that_is_planned_has_room_for_the_windows() -> None:
    program = compiler.compile(WINDOWS)
    agrees(program, random_inputs(WINDOWS, 1, {"x": (1, 3, 130)}))
    assert all(b.size >= 0 for b in program.memory.buffers)
