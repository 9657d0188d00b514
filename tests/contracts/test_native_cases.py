"""Tests that composite operators, and operators lowered to reductions, have no fallback.

Each operator is tested on a few of its cases in the onnx package, from the file to the verdict.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache

import pytest

from compiler.conformance.cases import Case, collect
from compiler.conformance.outcome import outcome_of

N_CASES = 4
"""Number of cases of one operator that run in this test; docs/coverage.md counts all cases."""

OPERATORS = (
    "AffineGrid",
    "ArgMax",
    "ArgMin",
    "Attention",
    "BatchNormalization",
    "Bernoulli",
    "BlackmanWindow",
    "CausalConvWithState",
    "CenterCropPad",
    "Einsum",
    "GroupNormalization",
    "HannWindow",
    "Hardmax",
    "LayerNormalization",
    "LinearAttention",
    "LpNormalization",
    "MaxPool",
    "MeanVarianceNormalization",
    "MelWeightMatrix",
    "NegativeLogLikelihoodLoss",
    "RMSNormalization",
    "ReduceMax",
    "Resize",
    "RotaryEmbedding",
    "STFT",
    "SoftmaxCrossEntropyLoss",
    "SwiGLU",
    "ai.onnx.preview.FlexAttention",
    "ai.onnx.preview.training.Adagrad",
    "ai.onnx.preview.training.Adam",
    "ai.onnx.preview.training.Momentum",
)


@cache
def by_operator() -> dict[str, list[Case]]:
    """Return the cases that consist of one operator, by operator."""
    found: dict[str, list[Case]] = defaultdict(list)
    for case in collect("node"):
        if len(case.operators) == 1:
            found[case.operators[0]].append(case)
    return found


@pytest.mark.parametrize("operator", OPERATORS)
def test_cases_of_an_operator_are_generated_code(operator: str) -> None:
    cases = by_operator()[operator]
    assert cases, f"onnx has no case of {operator}"
    for case in cases[:: -(-len(cases) // N_CASES)]:
        found = outcome_of(case)
        assert (found.kind, found.why) == ("native", ""), f"{case.name}: {found.fallbacks}"
