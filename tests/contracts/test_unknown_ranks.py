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

KNOWN, OPEN, UNRANKED = range(3)

MOST_OPERANDS = 5
"""Samples with more operands have too many combinations."""


def _known_as(t: Tensor, state: int) -> Tensor:
    if state == KNOWN:
        return t
    shape = None if state == UNRANKED else open_dims(t.rank, t)
    return replace(t, type=TensorType(t.type.dtype, shape))


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
        at = [k for k, t in enumerate(tensors) if t is not None and t.value is None]
        if len(at) > MOST_OPERANDS:
            continue
        refusals: dict[tuple[int, ...], str] = {}
        for states in product((KNOWN, OPEN, UNRANKED), repeat=len(at)):
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
