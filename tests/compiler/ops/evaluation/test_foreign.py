"""Tests of foreign operators: their inferred types, and their execution."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest

import compiler
from tests.onnx_models import I64, model, node, stored, value


def test_an_attribute_left_out_has_the_default_of_its_schema_in_type_inference_too() -> None:
    """onnx's type inference of STFT uses another default than its schema and its reference."""
    stft = node("STFT", ["x", "step", "", "length"], ["y"])
    sizes = [stored("step", 8, np.int64), stored("length", 16, np.int64)]
    made = model([stft], [value("x", (1, 64, 1))], [value("y", None)], sizes, opset=17)
    g = compiler.load(made.SerializeToString())
    assert str(g.types["y"]) == "f32[1,7,9,2]"
    x = np.random.default_rng(0).normal(size=(1, 64, 1)).astype(np.float32)
    y = compiler.compile(g).run({"x": x})["y"]
    windows = np.stack([x[0, i : i + 16, 0] for i in range(0, 49, 8)])
    spectrum = np.fft.rfft(windows)
    np.testing.assert_allclose(y[0, ..., 0], spectrum.real, atol=1e-4)
    np.testing.assert_allclose(y[0, ..., 1], spectrum.imag, atol=1e-4)


def test_a_range_of_values_whose_rank_only_the_inputs_tell() -> None:
    made = model(
        [node("Range", ["a", "b", "c"], ["y"])],
        [value(n, None, I64) for n in "abc"],
        [value("y", None, I64)],
    )
    program = compiler.compile(made.SerializeToString())
    for rank in (0, 1):
        numbers = {
            n: np.array(v).reshape((1,) * rank) for n, v in zip("abc", (3, 9, 2), strict=True)
        }
        np.testing.assert_array_equal(program.run(numbers)["y"], [3, 5, 7])


@pytest.mark.parametrize("sizes", [["a", "b", "c", "d"], [4, 3, "c", "d"]])
def test_sizes_that_a_declaration_waited_for_are_known_when_it_runs(sizes: list[Any]) -> None:
    """onnx.reference lacks groups with pads: the declaration is tried again with known sizes."""
    attrs = {"group": 2, "pads": [1, 0, 1, 1], "strides": [2, 1]}
    made = model(
        [node("ConvTranspose", ["x", "w"], ["y"], **attrs)],
        [value("x", ["N", 4, "H", "W"]), value("w", sizes)],
        [value("y", None)],
    )
    rng = np.random.default_rng(4)
    feeds = {
        "x": rng.normal(size=(2, 4, 5, 6)).astype(np.float32),
        "w": rng.normal(size=(4, 3, 3, 2)).astype(np.float32),
    }
    (needed,) = onnxruntime.InferenceSession(made.SerializeToString()).run(None, feeds)
    got = compiler.compile(made.SerializeToString()).run(feeds)["y"]
    np.testing.assert_allclose(got, needed, rtol=1e-4, atol=1e-5)
