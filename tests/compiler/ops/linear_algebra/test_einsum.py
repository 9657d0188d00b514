"""Tests of Einsum equations: ellipses, diagonals, several operands, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.errors import CompileError
from compiler.ir.operator import Tensor
from compiler.ir.types import tensor
from compiler.ops.linear_algebra.einsum import einsum, parsed
from tests.onnx_nodes import computed, normal


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("i...,...i", [(3, 2, 4), (2, 4, 3)]),
        ("ab,bc,cd,da->", [(2, 3), (3, 4), (4, 5), (5, 2)]),
        ("...i,...ij,...j", [(6, 2), (2, 3), (6, 3)]),
        ("abca->cb", [(2, 3, 4, 2)]),
        ("bnth,hkn->btk", [(2, 3, 4, 5), (5, 6, 3)]),
    ],
)
@pytest.mark.parametrize("by", ["reference", "lowering"])
def test_an_equation_means_what_numpy_says(
    equation: str, shapes: list[tuple[int, ...]], by: str
) -> None:
    xs = [normal(*s, seed=i) for i, s in enumerate(shapes)]
    got = computed("Einsum", *xs, opset=12, equation=equation, by=by)
    np.testing.assert_allclose(got, np.einsum(equation, *xs), rtol=1e-4, atol=1e-5)


def test_an_ellipsis_is_spelt_out_in_letters() -> None:
    assert str(parsed("...ij,jk->...ik", [4, 2])) == "abij,jk->abik"


@pytest.mark.parametrize(
    ("equation", "types", "code"),
    [
        ("ij,jk->ik", ["f32[2,3]"], "E-OP-ATTRIBUTE"),
        ("ij->iz", ["f32[2,3]"], "E-OP-ATTRIBUTE"),
        ("i1->i", ["f32[2,3]"], "E-OP-ATTRIBUTE"),
        ("ijk->i", ["f32[2,3]"], "E-OP-SHAPE"),
        ("ij,jk->ik", ["f32[2,3]", "f32[4,5]"], "E-OP-SHAPE"),
    ],
)
def test_an_equation_that_does_not_fit_is_refused(
    equation: str, types: list[str], code: str
) -> None:
    with pytest.raises(CompileError) as e:
        einsum(*(Tensor("x", tensor(t)) for t in types), equation=equation).types()
    assert e.value.code == code
