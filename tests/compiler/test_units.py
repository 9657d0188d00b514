"""Tests of the texts of quantities, which are the same in Python and in the page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compiler.units import (
    bytes_text,
    error_text,
    flops_text,
    number_text,
    percent_text,
    rate_text,
    ratio_text,
    seconds_text,
)

SAMPLES = json.loads((Path(__file__).parents[1] / "samples" / "quantities.json").read_text())
FORMATS = {
    "bytes": bytes_text,
    "seconds": seconds_text,
    "flops": flops_text,
    "rates": rate_text,
    "shares": percent_text,
    "ratios": ratio_text,
    "counts": number_text,
    "errors": error_text,
}


@pytest.mark.parametrize("kind", SAMPLES)
def test_quantities_have_the_texts_of_the_samples(kind: str) -> None:
    found = [[value, FORMATS[kind](value)] for value, _ in SAMPLES[kind]]
    assert found == SAMPLES[kind]


def test_numbers_that_are_not_finite_have_a_text() -> None:
    assert seconds_text(float("nan")) == "–"
    assert [error_text(e) for e in (None, float("inf"), float("nan"))] == ["∞", "∞", "NaN"]
