"""Tests of arithmetic: broadcasting, errors, shape computations, and older opsets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.errors import CompileError
from compiler.ir import affine
from compiler.ir.infer import evaluate_known
from compiler.ir.operator import OPERATORS, Tensor
from compiler.ir.types import TensorType, tensor
from compiler.ops.elementwise.arithmetic import add, div, max_, mod, pow_
from tests.onnx_nodes import computed, expected, imported, normal

N = affine.symbol("N")


def x(text: str) -> Tensor:
    return Tensor("x", tensor(text))


def objects(*values: Any) -> np.ndarray:
    made = np.empty(len(values), np.object_)
    made[:] = values
    return made


@pytest.mark.parametrize(
    ("a", "b", "needed"),
    [
        ("f32[2,1,5]", "f32[3,1]", "f32[2,3,5]"),
        ("f32[N,3]", "f32[1]", "f32[N,3]"),
        ("f32[N,3]", "f32[4,1]", "f32[4,3]"),
        ("f32[N]", "f32[N]", "f32[N]"),
        ("f32[N]", "f32[M]", "f32[max(M, N)]"),
        ("f32[...]", "f32[2]", "f32[...]"),
    ],
)
def test_shapes_broadcast_also_when_they_are_open(a: str, b: str, needed: str) -> None:
    assert add(x(a), x(b)).type == tensor(needed)


def test_shapes_that_do_not_broadcast_are_named_with_their_sizes() -> None:
    with pytest.raises(CompileError, match=r"\[2,3\] and \[4\]: 3 against 4") as e:
        add(x("f32[2,3]"), x("f32[4]")).types()
    assert e.value.code == "E-OP-SHAPE"


@pytest.mark.parametrize(
    ("a", "b"), [("f32[2]", "f64[2]"), ("bool[2]", "bool[2]"), ("string[2]", "string[2]")]
)
def test_element_types_that_do_not_go_together_are_refused(a: str, b: str) -> None:
    with pytest.raises(CompileError) as e:
        add(x(a), x(b)).types()
    assert e.value.code == "E-OP-DTYPE"


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "max", "min", "mod"])
def test_arithmetic_with_symbols_agrees_with_that_of_the_numbers(name: str) -> None:
    """Sizes, and the results of this arithmetic, are not negative."""
    operator = OPERATORS[name]
    a, b = objects(N * 4, N + 9, 6), np.array([2, 3, 4])
    found = evaluate_known(operator, [a, b], operator.bind({}))
    assert len(found) == 1
    for n in (1, 2, 7):
        numbers = np.array([4 * n, n + 9, 6])
        needed = evaluate_known(operator, [numbers, b], operator.bind({}))[0]
        for made in found:
            got = [affine.substitute(e, {"N": n}) for e in made.tolist()]
            assert got == needed.tolist()


def test_symbols_without_a_meaning_stay_unknown() -> None:
    for name in ("sqrt", "floor", "neg", "relu", "sigmoid"):
        operator = OPERATORS[name]
        found = evaluate_known(operator, [objects(N, N + 1)], operator.bind({}))
        assert found == () or name == "neg" or (name == "relu" and list(found[0]) == [N, N + 1])
    relu = OPERATORS["relu"]
    assert evaluate_known(relu, [objects(N, N - 1)], relu.bind({})) == ()


def test_integer_division_is_cut_off_towards_zero() -> None:
    a, b = np.array([7, -7, 7, -7]), np.array([2, 2, -2, -2])
    assert div.reference_fn is not None
    np.testing.assert_array_equal(div.reference_fn(a, b), [3, -3, -3, 3])
    np.testing.assert_array_equal(div.reference_fn(a.astype(object), b), [3, -3, -3, 3])


def test_powers_of_integers_are_integers() -> None:
    assert pow_.reference_fn is not None
    got = pow_.reference_fn(np.array([3, -2, 2, 5, -1]), np.array([4, 3, 30, -1, -3]))
    np.testing.assert_array_equal(got, [81, -8, 2**30, 0, -1])


def test_powers_of_integers_are_exact_and_wrap_like_numpy() -> None:
    base = np.array([[3], [-7], [10], [0]])
    exponent = np.array([0, 1, 19, 35, 39, 92])
    for dtype in (np.int64, np.int32, np.uint8):
        a, b = base.astype(dtype), exponent.astype(dtype)
        np.testing.assert_array_equal(computed("Pow", a, b, opset=17), np.power(a, b))
        np.testing.assert_array_equal(computed("Pow", a, b, opset=17, by="lowering"), a**b)


def test_short_floats_are_computed_in_f32_and_rounded_once() -> None:
    a = np.array([2048.0, 1.0], np.float16)
    b = np.array([1.0, 2.0**-11], np.float16)
    assert add.reference_fn is not None
    got = add.reference_fn(a, b)
    assert got.dtype == np.float16
    np.testing.assert_array_equal(got, (a.astype(np.float32) + b).astype(np.float16))


def test_the_sign_of_a_remainder_is_chosen_by_fmod() -> None:
    assert mod.reference_fn is not None
    a, b = np.array([-7, 7]), np.array([3, -3])
    np.testing.assert_array_equal(mod.reference_fn(a, b, fmod=False), [2, -2])
    np.testing.assert_array_equal(mod.reference_fn(a, b, fmod=True), [-1, 1])


def test_rows_of_the_table_say_where_they_are_written() -> None:
    places = {OPERATORS[n].source for n in ("add", "sub", "exp", "tan")}
    assert len(places) == 4
    assert all(p.startswith("ops/elementwise/arithmetic.py:") for p in places)


# ONNX


def test_an_old_operand_is_aligned_at_its_axis() -> None:
    a, b = normal(2, 3, 4, 5), normal(3, 4, seed=1)
    got = computed("Add", a, b, opset=6, broadcast=1, axis=1)
    np.testing.assert_array_equal(got, a + b[:, :, None])
    got = computed("Add", a, b, opset=6, broadcast=1, axis=-3)
    np.testing.assert_array_equal(got, a + b[:, :, None])
    suffix = normal(4, 5, seed=2)
    np.testing.assert_array_equal(computed("Mul", a, suffix, opset=6, broadcast=1), a * suffix)


@pytest.mark.parametrize("op_type", ["Max", "Min", "Sum", "Mean"])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_operators_of_many_operands_become_chains(op_type: str, n: int) -> None:
    arrays = [normal(2, 3, seed=i) for i in range(n)]
    got = computed(op_type, *arrays, opset=13)
    np.testing.assert_allclose(got, expected(op_type, *arrays, opset=13), rtol=1e-6)


@pytest.mark.parametrize(
    ("base", "power"),
    [("float32", "int64"), ("int32", "float32"), ("float32", "float64"), ("int64", "int32")],
)
def test_a_power_of_another_type_keeps_the_type_of_the_base(base: str, power: str) -> None:
    a, b = np.array([1, 2, 3]).astype(base), np.array([2, 3, 0]).astype(power)
    got = computed("Pow", a, b, opset=15)
    assert got.dtype == a.dtype
    np.testing.assert_allclose(got, expected("Pow", a, b, opset=15), rtol=1e-6)


def test_a_half_power_of_an_integer_is_computed_with_its_fraction() -> None:
    got = computed("Pow", np.array([4, 10]), np.array([0.5, 0.5]), opset=15)
    np.testing.assert_array_equal(got, [2, 3])


def test_one_operand_of_sum_is_itself() -> None:
    assert isinstance(imported("Sum", "f32[2]", opset=13), Tensor)


def test_max_of_an_open_rank_stays_open() -> None:
    assert max_(x("f32[...]"), x("f32[2]")).type == TensorType(tensor("f32[]").dtype, None)
