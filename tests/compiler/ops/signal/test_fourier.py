"""Tests of Fourier transforms of every length and kind, against numpy and onnx.reference."""

from __future__ import annotations

import numpy as np
import pytest

from tests.onnx_nodes import computed, expected, imported, normal


@pytest.mark.parametrize("length", [None, 4, 7, 11])
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("onesided", [0, 1])
def test_a_transform_of_any_length(length: int | None, parts: int, onesided: int) -> None:
    x = normal(2, 7, 3, parts)
    operands = (x, None if length is None else np.array(length), np.array(1))
    got = computed("DFT", *operands, opset=20, onesided=onesided)
    needed = expected("DFT", *operands, opset=20, onesided=onesided)
    np.testing.assert_allclose(got, needed, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("length", [None, 6, 7, 10, 13])
def test_half_a_spectrum_becomes_a_signal(length: int | None) -> None:
    x = normal(2, 5, 2)
    operands = (x, None if length is None else np.array(length))
    needed = expected("DFT", *operands, opset=20, inverse=1, onesided=1)
    got = computed("DFT", *operands, opset=20, inverse=1, onesided=1)
    np.testing.assert_allclose(got, needed, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("onesided", [0, 1])
@pytest.mark.parametrize("by", ["reference", "lowering"])
def test_a_short_time_transform(onesided: int, by: str) -> None:
    x, window = normal(2, 23, 1), normal(6, seed=3)
    given = (x, np.array(3), window, np.array(6))
    got = computed("STFT", *given, opset=17, onesided=onesided, by=by)
    needed = expected("STFT", *given, opset=17, onesided=onesided)
    np.testing.assert_allclose(got, needed, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("by", ["reference", "lowering"])
def test_a_short_time_transform_of_signals_without_a_last_axis(by: str) -> None:
    x, window = normal(2, 23, 1), normal(6, seed=3)
    rest = (np.array(4), window, np.array(6))
    got = computed("STFT", x[..., 0], *rest, opset=17, by=by)
    needed = expected("STFT", x, *rest, opset=17, onesided=1)
    np.testing.assert_allclose(got, needed, rtol=1e-4, atol=1e-5)


def test_a_transform_whose_matrix_would_be_huge_is_left_to_the_reference() -> None:
    assert imported("DFT", "f32[1,100000,1]", opset=20) is None
