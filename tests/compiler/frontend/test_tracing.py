"""Tests of graphs from Python functions: recorded nodes, results, and error positions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import compiler
from compiler.errors import CompileError
from compiler.frontend.tracing import Tensor, Tracing, TracingLimits
from compiler.frontend.tracing import functions as F
from compiler.frontend.tracing.tensor import BINARY, UNARY
from compiler.ir.operator import OPERATORS
from compiler.ir.types import parse_type

RNG = np.random.default_rng(5)


def mlp(x: f32[N, 4]):  # type: ignore[name-defined] # noqa: F821
    """Two layers of different widths."""
    h = F.relu(x @ F.weight([4, 6], seed=1) + F.full([6], 0.25))
    first, second = F.split(h, axis=1, sizes=[2, 4])
    return {"p": second.softmax(axis=-1), "sum": first * 3 - 1}


def test_a_function_becomes_a_graph_that_means_the_same() -> None:
    graph = compiler.model(mlp)
    assert [v.name for v in graph.inputs] == ["x"]
    assert [(r.name, str(graph.types[r.value])) for r in graph.results] == [
        ("p", "f32[N,4]"),
        ("sum", "f32[N,2]"),
    ]
    assert compiler.parse(str(graph)) == graph
    x = RNG.standard_normal((3, 4), np.float32)
    w = np.random.default_rng(1).standard_normal((4, 6), np.float32) * np.float32(0.5)
    h = np.maximum(x @ w + np.float32(0.25), 0)
    e = np.exp(h[:, 2:] - h[:, 2:].max(axis=1, keepdims=True))
    found = compiler.compile(graph).run({"x": x})
    np.testing.assert_allclose(found["p"], e / e.sum(axis=1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(found["sum"], h[:, :2] * 3 - 1, rtol=1e-5, atol=1e-6)


def test_types_may_be_given_by_name_and_defaults_stay() -> None:
    def scaled(x, factor=2.5):  # type: ignore[no-untyped-def]
        return x * factor

    graph = compiler.model(scaled, x="f16[2,3]")
    assert str(graph.types[graph.results[0].value]) == "f16[2,3]"
    assert [v.name for v in graph.inputs] == ["x"]


INDICES = [
    np.s_[1],
    np.s_[-1],
    np.s_[:, 2:4],
    np.s_[..., ::2],
    np.s_[::-1, 0],
    np.s_[None, 1:, ..., None],
    np.s_[:, None, -3:-1, 3],
    np.s_[1, 2, 4],
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_indexing_is_that_of_numpy(index: object) -> None:
    graph = compiler.model(lambda x: x[index], x="f32[2,3,5]")
    x = RNG.standard_normal((2, 3, 5), np.float32)
    (found,) = compiler.reference(graph, {"x": x}).values()
    np.testing.assert_array_equal(found, x[index])  # type: ignore[call-overload]


def test_every_sign_is_an_operator() -> None:
    assert set(BINARY.values()) | set(UNARY.values()) <= set(OPERATORS)

    def signs(a, b):  # type: ignore[no-untyped-def]
        c = (a + b - 2) * b / 3 % 2
        d = 1 - c**2
        return F.where((d < c) & (a != b) | ~(c >= 1), abs(-d), 2 / d), a.T @ b

    graph = compiler.model(signs, a="f32[2,3]", b="f32[2,3]")
    a, b = RNG.random((2, 2, 3), np.float32) + np.float32(0.5)
    c = (a + b - 2) * b / 3 % 2
    d = 1 - c**2
    chosen = np.where((d < c) & (a != b) | ~(c >= 1), abs(-d), 2 / d)
    found = list(compiler.reference(graph, {"a": a, "b": b}).values())
    np.testing.assert_allclose(found[0], chosen, rtol=1e-5)
    np.testing.assert_allclose(found[1], a.T @ b, rtol=1e-5)


def test_numbers_take_the_type_of_tensors_and_lists_are_whole() -> None:
    def f(x, i):  # type: ignore[no-untyped-def]
        return i + 1, x.clip(0, 6), F.reshape(x, [3, -1]), 2 * x

    graph = compiler.model(f, x="f16[2,3]", i="i32[4]")
    types = [str(graph.types[r.value]) for r in graph.results]
    assert types == ["i32[4]", "f16[2,3]", "f16[3,2]", "f16[2,3]"]


def fails(code: str, fn: object, **types: str) -> CompileError:
    with pytest.raises(CompileError) as caught:
        compiler.model(fn, **types)  # type: ignore[arg-type]
    assert caught.value.code == code, caught.value
    return caught.value


def test_an_error_stands_under_the_call() -> None:
    def wrong(x):  # type: ignore[no-untyped-def]
        h = x + 1
        return h @ F.weight([5, 2])

    error = fails("E-OP-SHAPE", wrong, x="f32[3,4]")
    lines = Path(__file__).read_text().splitlines()
    assert error.where.source == "test_tracing.py"
    line = lines[error.where.line - 1]
    assert line[error.where.column - 1 :][: error.where.length] == "h @ F.weight([5, 2])"


def test_what_a_model_cannot_be() -> None:
    assert "where" in fails("E-WRITE-VALUE", lambda x: 1 if x > 0 else x, x="f32[2]").hint
    fails("E-WRITE-VALUE", lambda x: 3, x="f32[2]")
    fails("E-WRITE-VALUE", lambda x: (), x="f32[2]")
    fails("E-WRITE-VALUE", lambda x: x + "a", x="f32[2]")
    fails("E-WRITE-VALUE", lambda x: x[5], x="f32[2]")
    fails("E-WRITE-VALUE", lambda x: F.reshape(x, [x.shape[0]]), x="f32[N]")
    fails("E-WRITE-VALUE", lambda x: x, x=None)  # type: ignore[arg-type]
    fails("E-INPUT-NAME", lambda x: x, x="f32[2]", y="f32[2]")
    fails("E-OP-SHAPE", lambda x: x, x="f32[-2]")
    fails("E-TEXT-SYNTAX", lambda x: x, x="f32")
    assert "relu" in fails("E-TEXT-OPERATOR", lambda x: F.rleu(x), x="f32[2]").hint
    assert "axis" in fails("E-OP-ATTRIBUTE", lambda x: x.softmax(axs=1), x="f32[2]").hint
    fails("E-OP-ATTRIBUTE", lambda x: x.softmax(axis="a"), x="f32[2]")
    with pytest.raises(CompileError, match="E-WRITE-VALUE"):
        F.weight([2, 3])


def test_a_tensor_of_another_model_is_refused() -> None:
    other = Tracing("other").input("y", parse_type("f32[2]"))
    fails("E-WRITE-VALUE", lambda x: x + other, x="f32[2]")
    assert isinstance(other, Tensor)


def test_limits_say_the_number() -> None:
    limits = TracingLimits(n_nodes=3, n_elements=100, list_elements=4)

    def f(n: int):  # type: ignore[no-untyped-def]
        def chain(x):  # type: ignore[no-untyped-def]
            for _ in range(n):
                x = x.relu()
            return x

        return chain

    compiler.model(f(3), limits=limits, x="f32[2]")
    with pytest.raises(CompileError, match="more than 3 nodes"):
        compiler.model(f(4), limits=limits, x="f32[2]")
    with pytest.raises(CompileError, match="200 elements; the limit is 100"):
        compiler.model(lambda x: x + F.weight([10, 20]), limits=limits, x="f32[20]")
    with pytest.raises(CompileError, match="4 numbers"):
        compiler.model(lambda x: x.add([1, 2, 3, 4, 5]), limits=limits, x="f32[5]")
