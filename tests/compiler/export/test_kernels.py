"""Tests of exports with types for which ONNX Runtime lacks the preferred kernel."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import compiler
from compiler import parse
from compiler.ir.graph import Graph


def assert_runs_alike(graph: Graph, low: float = -9.0) -> list[str]:
    """Run the export in ONNX Runtime on numbers from `low` to 9; return the types of its nodes."""
    chance = np.random.default_rng(5)
    inputs = {
        v.name: chance.uniform(low, 9, v.type.static_shape).astype(v.type.dtype.numpy)
        for v in graph.inputs
    }
    data = compiler.to_onnx(graph)
    session = ort.InferenceSession(data, providers=["CPUExecutionProvider"])
    needed = compiler.reference(graph, inputs)
    for name, found in zip(needed, session.run(list(needed), inputs), strict=True):
        np.testing.assert_allclose(found, needed[name], rtol=1e-12, atol=1e-14)
    return [n.op_type for n in onnx.load_from_string(data).graph.node]


def test_relu_of_whole_numbers_is_max() -> None:
    graph = parse("graph g(x: i64[2,3]) { y: i64[2,3] = relu(x) return y }")
    assert assert_runs_alike(graph) == ["Max"]


def test_products_of_whole_numbers_are_no_gemm() -> None:
    graph = parse("""
    graph g(x: i32[2,3], w: i32[4,3], b: i32[4]) {
      p: i32[2,4] = matmul(x, w, transpose_b=true)
      y: i32[2,4] = add(p, b)
      return y
    }""")
    assert assert_runs_alike(graph) == ["Transpose", "MatMul", "Add"]


ACTIVATIONS = (
    "elu", "hard_sigmoid", "hard_swish", "leaky_relu", "mish", "selu", "softplus", "softsign",
    "thresholded_relu",
)  # fmt: skip


@pytest.mark.parametrize("op", ACTIVATIONS)
def test_activations_of_doubles_keep_their_digits(op: str) -> None:
    assert_runs_alike(parse(f"graph g(x: f64[5,7]) {{ y: f64[5,7] = {op}(x) return y }}"))


@pytest.mark.parametrize("kind", ["u8", "u16", "u32"])
@pytest.mark.parametrize("op", ["reduce_sum", "reduce_l2", "reduce_mean"])
def test_sums_of_unsigned_numbers_are_cast(op: str, kind: str) -> None:
    """Sums out of range wrap around here, and saturate in the cast of ONNX Runtime."""
    call = f"{op}(x, axes=[1], keepdims=false)"
    text = f"graph g(x: {kind}[3,5]) {{ y: {kind}[3] = {call} return y }}"
    assert "Cast" in assert_runs_alike(parse(text), low=0)


@pytest.mark.parametrize(
    ("op", "kind", "types"),
    [
        ("reduce_max(x, axes=[1], keepdims=false)", "u16", "u16[3]"),
        ("argmax(x, axis=1, keepdims=false)", "u16", "i64[3]"),
        ("argmax(x, axis=1, keepdims=false)", "u32", "i64[3]"),
        ("trilu(x)", "u32", "u32[3,5]"),
        ("max(x, x)", "u16", "u16[3,5]"),
    ],
)
def test_large_unsigned_numbers_stay_large(op: str, kind: str, types: str) -> None:
    assert_runs_alike(parse(f"graph g(x: {kind}[3,5]) {{ y: {types} = {op} return y }}"))
