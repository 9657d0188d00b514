"""Tests of integer expressions: a canonical form, text that parses back, valid bounds."""

from __future__ import annotations

import operator
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.errors import CompileError
from compiler.ir import affine
from compiler.ir.affine import Expr, bounds, floordiv, maximum, minimum, mod, simplify, symbol

N, M = symbol("N"), symbol("M")
NAMES = ("i", "j", "N")
LEAVES = st.one_of(st.integers(-9, 9), st.sampled_from(NAMES).map(symbol))


def combine(children: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    two = st.tuples(children, children)
    positive = st.integers(1, 7)
    return st.one_of(
        two.map(lambda p: p[0] + p[1]),
        two.map(lambda p: p[0] - p[1]),
        two.map(lambda p: p[0] * p[1]),
        two.map(lambda p: minimum(*p)),
        two.map(lambda p: maximum(*p)),
        st.tuples(children, positive).map(lambda p: floordiv(*p)),
        st.tuples(children, positive).map(lambda p: mod(*p)),
    )


EXPRESSIONS = st.recursive(LEAVES, combine, max_leaves=6)
VALUES = st.fixed_dictionaries({name: st.integers(0, 11) for name in NAMES})


def value(e: Expr, values: Mapping[str, int]) -> int:
    """Return the number, by Python's arithmetic on the printed text."""
    return eval(str(e), {"min": min, "max": max}, dict(values))


@settings(max_examples=200, deadline=None)
@given(EXPRESSIONS)
def test_the_text_of_an_expression_reads_back(e: Expr) -> None:
    assert affine.parse(str(e)) == e


@settings(max_examples=200, deadline=None)
@given(EXPRESSIONS, VALUES)
def test_putting_numbers_in_gives_what_the_text_says(e: Expr, values: dict[str, int]) -> None:
    assert affine.substitute(e, values) == value(e, values)


@settings(max_examples=200, deadline=None)
@given(EXPRESSIONS, VALUES)
def test_bounds_hold_and_simplifying_keeps_the_value(e: Expr, values: dict[str, int]) -> None:
    ranges = {name: (0, 11) for name in NAMES}
    low, high = bounds(e, ranges)
    assert low <= value(e, values) <= high
    assert value(simplify(e, ranges), values) == value(e, values)


@settings(max_examples=100, deadline=None)
@given(EXPRESSIONS, EXPRESSIONS, VALUES)
def test_arithmetic_on_expressions_is_arithmetic(a: Expr, b: Expr, values: dict[str, int]) -> None:
    for fn in (operator.add, operator.sub, operator.mul):
        assert value(fn(a, b), values) == fn(value(a, values), value(b, values))


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (N + N - 2 * N, "0"),
        (N + 1 + M, "M+N+1"),
        ((N + 1) * 3 - N, "2*N+3"),
        (floordiv(4 * N + 5, 2), "2*N+2"),
        (mod(4 * N + 6, 4), "2"),
        (floordiv(N, N), "1"),
        (minimum(N, N + 1), "N"),
        (maximum(N, N + 1), "N+1"),
        (-N // 2, "(-N)//2"),
    ],
)
def test_equal_sums_have_one_form(made: Expr, text: str) -> None:
    assert made == affine.parse(text)


def test_ranges_decide_divisions() -> None:
    i, j = symbol("i"), symbol("j")
    ranges = {"i": (0, 9), "j": (0, 3)}
    assert simplify(floordiv(4 * i + j, 4), ranges) == i
    assert simplify(mod(4 * i + j, 4), ranges) == j
    assert simplify(floordiv(i, 4) * 4 + mod(i, 4), ranges) == i
    assert simplify(minimum(j, 7 + i), ranges) == j


@pytest.mark.parametrize("text", ["", "N+", "N(1)", "f(N,1)", "1.5", "N**2", "(" * 400])
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(CompileError) as e:
        affine.parse(text)
    assert e.value.code == "E-TEXT-SYNTAX"


def test_nothing_is_divided_by_zero() -> None:
    a, b = symbol("a"), symbol("b")
    assert bounds(floordiv(a, b), {"a": (0, 10), "b": (0, 3)}) == (0, 10)
    assert bounds(floordiv(a, b), {"a": (2, 10), "b": (-3, 3)}) == (-10, 10)
    assert bounds(floordiv(a, b), {"a": (2, 10), "b": (0, 0)}) == (2, 10)
    for e in (floordiv(a, b), mod(a, b)):
        with pytest.raises(CompileError) as caught:
            affine.substitute(e, {"a": 3, "b": 0})
        assert caught.value.code == "E-OP-SHAPE"


def test_quotient_and_remainder_come_together_also_when_divisions_are_nested() -> None:
    x = affine.symbol("x")
    inner = affine.floordiv(x, 5)
    nested = affine.floordiv(x, 15) * 3 + affine.mod(inner, 3)
    assert affine.recombine(nested) == inner
    assert affine.recombine(affine.floordiv(inner, 3) * 3 + affine.mod(inner, 3)) == inner


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(EXPRESSIONS, st.integers(-3, 3)), max_size=4), VALUES)
def test_a_sum_of_multiples_is_what_adding_them_one_by_one_gives(
    multiples: list[tuple[Expr, int]], values: dict[str, int]
) -> None:
    total = affine.sum_of(multiples, 5)
    expected: Expr = 5
    for e, k in multiples:
        expected = expected + e * k
    assert total == expected
    assert value(total, values) == 5 + sum(value(e, values) * k for e, k in multiples)


def test_equal_expressions_are_equal_keys_however_they_were_made() -> None:
    first, second = floordiv(N + 2 * M, 3), floordiv(M + N + M, 3)
    assert first == second
    assert hash(first) == hash(second)
    assert first != floordiv(N + 2 * M, 4)
    assert affine.symbols(first * symbol("K")) == {"K", "M", "N"}


def test_what_is_remembered_goes_by_the_ranges_and_values_given() -> None:
    e = mod(N, 8) + M
    assert simplify(e, {"N": (0, 7)}) == N + M
    assert simplify(e, {"N": (0, 8)}) == e
    assert affine.substitute(e, {"N": 13}) == M + 5
    assert affine.substitute(e, {"N": 3}) == M + 3


def test_strides_of_an_array_that_lies_row_by_row() -> None:
    assert affine.row_major((5, N, 3)) == (N * 3, 3, 1)
    assert affine.row_major(()) == ()
