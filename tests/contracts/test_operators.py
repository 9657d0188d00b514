"""Tests that every operator has all facets, and that its facets agree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import compiler.ops
from compiler.errors import CompileError
from compiler.ir import affine
from compiler.ir.operator import ONNX, OPERATORS, Operator, Sample, Tensor
from compiler.ir.types import Dim, TensorType, Type, substitute
from tests.operator_samples import (
    as_tuple,
    assert_same,
    assert_type,
    lowered,
    operands_of,
    reference,
    tensors_of,
    value_of,
)

assert compiler.ops.__doc__


def test_an_unknown_operator_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(KeyError, match="'sofmax'; similar names: softmax"):
        OPERATORS["sofmax"]
    with pytest.raises(KeyError, match=r"`import compiler\.ops` declares the operators"):
        type(OPERATORS)()["softmax"]
    assert OPERATORS.get("sofmax") is None


STRUCTURAL = {"fusion"}
"""Operators with a region that defines their results; the facets are those of the body."""

NOT_IN_ONNX = {
    "attention",
    "cast_flushed",
    "channel_shuffle",
    "lstm_cell",
    "relayout",
    "rotary",
    "transfer",
}
"""Operators that only our passes create: no ONNX node becomes one directly."""

THROUGH_ANOTHER = {
    "shift_right": "BitShift",
    "cast_saturated": "Cast",
    "cast_to_power": "Cast",
    "resample": "Resize",
    "conv_codes": "ConvInteger",
    "window_sums": "ConvInteger",
    "quantization_range": "DynamicQuantizeLinear",
    "max_pool_places": "MaxPool",
    "probit": "ai.onnx.ml:TreeEnsemble",
    "class_of": "ai.onnx.ml:TreeEnsembleClassifier",
}
"""Operators created by the `onnx` facet that another operator registers for both, or by a pass from
the result of that facet."""

WITHOUT_LOWERING: set[str] = set()
"""Operators that only their reference evaluates."""


def named(operators: Iterator[Operator]) -> list[object]:
    return [pytest.param(o, id=o.name) for o in operators if o.name not in STRUCTURAL]


ALL = named(iter(OPERATORS.values()))
LOWERED = named(o for o in OPERATORS.values() if o.lower_fn is not None)
DECOMPOSED = named(o for o in OPERATORS.values() if o.decompose_fn is not None)


def samples(operator: Operator) -> Iterator[tuple[int, Sample]]:
    yield from enumerate(operator.all_samples())


def describe(sample: Sample) -> str:
    operands = [o if isinstance(o, str) or o is None else repr(o) for o in sample.operands]
    return f"{operands} {dict(sample.attrs)}"


@pytest.mark.parametrize("operator", ALL)
def test_no_facet_is_missing(operator: Operator) -> None:
    assert operator.words, "the page shows the docstring"
    assert operator.reference_fn, "declare the facet `reference`"
    assert operator.cost_fn, "declare the facet `cost`"
    assert operator.samples_fn, "declare the facet `samples`"
    if operator.name not in WITHOUT_LOWERING:
        assert operator.lower_fn or operator.decompose_fn, (
            "declare exactly one of `lower` and `decompose`"
        )
    if operator.name not in NOT_IN_ONNX:
        assert operator.onnx_names or THROUGH_ANOTHER.get(operator.name) in ONNX, (
            "register an ONNX name, or list the operator in NOT_IN_ONNX"
        )
    for name in operator.onnx_names:
        assert name in ONNX


def test_the_lists_of_exceptions_name_operators_that_need_them() -> None:
    assert NOT_IN_ONNX <= set(OPERATORS)
    assert WITHOUT_LOWERING <= set(OPERATORS)
    assert not [n for n in NOT_IN_ONNX if OPERATORS[n].onnx_names]
    assert not [n for n in WITHOUT_LOWERING if OPERATORS[n].lower_fn]


@pytest.mark.parametrize("operator", ALL)
def test_samples_are_distinct_and_do_not_all_have_one_element(operator: Operator) -> None:
    texts = [describe(s) for s in operator.all_samples()]
    assert len(texts) >= 2
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("operator", ALL)
def test_the_type_rule_gives_the_type_of_the_reference(operator: Operator) -> None:
    for seed, sample in samples(operator):
        arrays = operands_of(operator, sample, seed)
        inferred = operator.infer(tensors_of(operator, sample, arrays), operator.bind(sample.attrs))
        made = reference(operator, arrays, sample.attrs)
        assert len(inferred) == len(made), describe(sample)
        for t, array in zip(inferred, made, strict=True):
            assert_type(t, array)


@pytest.mark.parametrize("operator", ALL)
def test_cost_is_counted_for_every_sample(operator: Operator) -> None:
    assert operator.cost_fn is not None
    for seed, sample in samples(operator):
        arrays = operands_of(operator, sample, seed)
        tensors = tensors_of(operator, sample, arrays)
        bound = operator.bind(sample.attrs)
        types = operator.infer(tensors, bound)
        out = types if len(types) > 1 else types[0]
        cost = operator.cost_fn(*(t and t.type for t in tensors), out=out, **bound)
        assert min(cost.flops, cost.bytes_read, cost.bytes_written) >= 0, describe(sample)
        if operator.kind in ("elementwise", "reduction", "contraction", "movement"):
            written = sum(t.nbytes for t in types if isinstance(t, TensorType))
            assert cost.bytes_written == written, describe(sample)


@pytest.mark.parametrize("operator", LOWERED)
def test_the_lowering_computes_the_reference(operator: Operator) -> None:
    for seed, sample in samples(operator):
        arrays = operands_of(operator, sample, seed)
        needed = reference(operator, arrays, sample.attrs)
        got = lowered(operator, tensors_of(operator, sample, arrays), arrays, sample.attrs)
        for g, n in zip(got, needed, strict=True):
            assert_same(g, n, exact=operator.exact)


@pytest.mark.parametrize("operator", DECOMPOSED)
def test_the_decomposition_computes_the_reference(operator: Operator) -> None:
    assert operator.decompose_fn is not None
    for seed, sample in samples(operator):
        arrays = operands_of(operator, sample, seed)
        tensors = tensors_of(operator, sample, arrays)
        made = as_tuple(operator.decompose_fn(*tensors, **operator.bind(sample.attrs)))
        given = {t.name: a for t, a in zip(tensors, arrays, strict=True) if t and a is not None}
        for part, needed in zip(made, reference(operator, arrays, sample.attrs), strict=True):
            got = value_of(part, given)
            assert got is not None
            assert_same(np.asarray(got), needed, exact=operator.exact)


@pytest.mark.parametrize("operator", ALL)
def test_the_type_rule_with_open_dimensions_agrees_once_they_are_given(operator: Operator) -> None:
    for seed, sample in samples(operator):
        arrays = operands_of(operator, sample, seed)
        closed = tensors_of(operator, sample, arrays)
        values: dict[str, int] = {}
        opened = [
            t and (opened_up(t, str(i), values) if t.value is None else t)
            for i, t in enumerate(closed)
        ]
        bound = operator.bind(sample.attrs)
        found = inferred_or_refused(operator, opened, bound)
        if found is None:
            continue
        for t, needed in zip(found, operator.infer(closed, bound), strict=True):
            assert isinstance(t, TensorType)
            assert isinstance(needed, TensorType)
            assert t.dtype is needed.dtype
            if t.shape is not None:
                given = substitute(t, values)
                assert isinstance(given, TensorType)
                if given.is_static:
                    assert given == needed, f"{describe(sample)}: {t} with {values}"


def inferred_or_refused(
    operator: Operator, operands: list[Tensor | None], attrs: dict[str, Any]
) -> tuple[Type, ...] | None:
    """Return the types; None if a rule refuses because it needs numbers (sizes of a kernel)."""
    try:
        return operator.infer(operands, attrs)
    except CompileError as e:
        if e.code != "E-SHAPE-OPEN":
            raise
        return None


def opened_up(t: Tensor, prefix: str, values: dict[str, int]) -> Tensor:
    """Return the operand with a symbol for every dimension above 1; record the symbols' values."""
    dims: list[Dim] = []
    for d, n in enumerate(t.type.static_shape):
        name = f"N{prefix}_{d}"
        if n > 1:
            values[name] = n
        dims.append(affine.symbol(name) if n > 1 else n)
    return Tensor(t.name, TensorType(t.dtype, tuple(dims)))
