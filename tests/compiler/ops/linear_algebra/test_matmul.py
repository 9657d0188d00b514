"""Tests of matrix products: shapes, transposes, and the operands of Gemm."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.compute.builder import Lowering
from compiler.errors import CompileError
from compiler.ir.operator import Array, Call, Tensor
from compiler.ir.types import tensor
from compiler.ops.linear_algebra.matmul import matmul
from tests.onnx_nodes import computed, expected, imported, normal


def x(text: str) -> Tensor:
    return Tensor("x", tensor(text))


@pytest.mark.parametrize(
    ("a", "b", "needed"),
    [
        ("f32[N,3]", "f32[3,M]", "f32[N,M]"),
        ("f32[B,N,K]", "f32[K,5]", "f32[B,N,5]"),
        ("f32[B,1,2,3]", "f32[4,3,N]", "f32[B,4,2,N]"),
        ("f32[K]", "f32[K]", "f32[]"),
        ("f32[K]", "f32[2,K,N]", "f32[2,N]"),
        ("f32[...]", "f32[3,2]", "f32[...]"),
    ],
)
def test_open_sizes_pass_through(a: str, b: str, needed: str) -> None:
    assert matmul(x(a), x(b)).type == tensor(needed)


@pytest.mark.parametrize(
    ("a", "b", "attrs", "words"),
    [
        ("f32[2,3]", "f32[4,5]", {}, "size 3 for the first axis of b, got 4"),
        ("f32[2,3]", "f32[3,5]", {"transpose_a": True}, "size 2 for the first axis of b, got 3"),
        ("f32[2,3,4]", "f32[3,4,5]", {}, "2 against 3"),
        ("f32[]", "f32[3]", {}, "no scalar"),
    ],
)
def test_shapes_that_do_not_fit_are_named(
    a: str, b: str, attrs: dict[str, bool], words: str
) -> None:
    with pytest.raises(CompileError, match=words) as e:
        matmul(x(a), x(b), **attrs).types()
    assert e.value.code == "E-OP-SHAPE"


def test_the_lowering_is_one_sum_of_products_with_named_axes() -> None:
    k = Lowering("matmul")
    a, b = k.input("a", tensor("f32[7,2,3]")), k.input("b", tensor("f32[5,3]"))
    out = k.output("out", tensor("f32[7,2,5]"))
    assert matmul.lower_fn is not None
    matmul.lower_fn(k, a, b, out, transpose_a=False, transpose_b=True)
    (stage,) = k.computation().stages
    assert dict(stage.extents) == {"b": 7, "m": 2, "n": 5, "k": 3}
    assert str(stage.value) == "reduce_add([k], mul(a[b, m, k], b[n, k]))"
    assert stage.is_identity_indexed()


def test_short_floats_are_summed_in_f32() -> None:
    a = np.full((1, 4096), 1, np.float16)
    b = np.full((4096, 1), 1, np.float16)
    for by in ("reference", "lowering"):
        assert computed("MatMul", a, b, opset=13, by=by)[0, 0] == 4096


@pytest.mark.parametrize("c", [None, (5,), (2, 1), (2, 5), (1,), ()])
@pytest.mark.parametrize("trans", [(0, 0), (1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 1.0), (0.5, 2.0), (1.0, 0.0)])
def test_gemm_is_a_product_with_what_is_needed_around_it(
    c: tuple[int, ...] | None, trans: tuple[int, int], alpha: float, beta: float
) -> None:
    a = normal(*((3, 2) if trans[0] else (2, 3)))
    b = normal(*((5, 3) if trans[1] else (3, 5)), seed=1)
    addend: Array | None = None if c is None else np.asarray(normal(*c, seed=2))
    attrs = {"transA": trans[0], "transB": trans[1], "alpha": alpha, "beta": beta}
    got = computed("Gemm", a, b, addend, opset=13, **attrs)
    needed = expected("Gemm", a, b, addend, opset=13, **attrs)
    np.testing.assert_allclose(got, needed, rtol=1e-5, atol=1e-6)


def test_gemm_adds_no_node_that_does_nothing() -> None:
    def operators(made: object) -> list[str]:
        if not isinstance(made, Call):
            return []
        return [made.op.name, *(name for a in made.args for name in operators(a))]

    plain = imported("Gemm", "f32[2,3]", "f32[3,5]", opset=13)
    assert operators(plain) == ["matmul"]
    biased = imported("Gemm", "f32[2,3]", "f32[3,5]", "f32[5]", opset=13)
    assert operators(biased) == ["add", "matmul"]
    nothing = imported("Gemm", "f32[2,3]", "f32[3,5]", "f32[5]", opset=13, beta=0.0)
    assert operators(nothing) == ["matmul"]
    scaled = imported("Gemm", "f32[2,3]", "f32[3,5]", "f32[5]", opset=13, alpha=0.5, beta=3.0)
    assert operators(scaled) == ["add", "mul", "matmul", "mul"]
