"""Tests that type rules that accept an operand of unknown rank accept other known sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import compiler.ops
from compiler.errors import CompileError
from compiler.ir.operator import OPERATORS, Operator, Sample, Tensor
from compiler.ir.types import TensorType
from compiler.ops.type_rules.dims import open_dims
from tests.operator_samples import operands_of, tensors_of

assert compiler.ops.__doc__

KNOWN, DATA, OPEN, UNRANKED = range(4)
"""What is known of an operand: its elements, if constant; its sizes; its rank; nothing."""

MOST_OPERANDS = 5
"""Samples with more operands have too many combinations."""


def _known_as(t: Tensor, state: int) -> Tensor:
    if state == KNOWN:
        return t
    shapes = {DATA: t.type.shape, OPEN: open_dims(t.rank, t), UNRANKED: None}
    return replace(t, type=TensorType(t.type.dtype, shapes[state]), value=None)


def _states(t: Tensor) -> tuple[int, ...]:
    """Return the states of an operand; the elements of a constant of unknown rank are unknown."""
    return (KNOWN, OPEN, UNRANKED) if t.value is None else (KNOWN, DATA, OPEN)


def _refusal(operator: Operator, operands: Sequence[Tensor | None], sample: Sample) -> str:
    try:
        operator.infer(operands, operator.bind(sample.attrs))
    except CompileError as e:
        return f"{e.code} {e.message}"
    return ""


def _refused_for_knowledge(operator: Operator) -> Iterator[str]:
    """Yield refused states of a sample's operands although fewer known sizes are accepted."""
    for sample in operator.all_samples():
        tensors = tensors_of(operator, sample, operands_of(operator, sample))
        at = [k for k, t in enumerate(tensors) if t is not None]
        if len(at) > MOST_OPERANDS:
            continue
        refusals: dict[tuple[int, ...], str] = {}
        for states in product(*(_states(t) for t in tensors if t is not None)):
            operands = list(tensors)
            for k, state in zip(at, states, strict=True):
                t = operands[k]
                assert t is not None
                operands[k] = _known_as(t, state)
            refusals[states] = _refusal(operator, operands, sample)
        for states, refusal in refusals.items():
            fewer = [
                (*states[:k], OPEN, *states[k + 1 :]) for k, s in enumerate(states) if s == KNOWN
            ]
            if UNRANKED in states and refusal and any(not refusals[f] for f in fewer):
                yield f"{operator.name}{states}: {refusal}"


def test_more_known_sizes_are_never_refused() -> None:
    refused = [r for o in OPERATORS.values() if o.samples_fn for r in _refused_for_knowledge(o)]
    assert not refused
