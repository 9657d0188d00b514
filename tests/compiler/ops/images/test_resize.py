"""Tests of resizing: all coordinate and rounding modes, open sizes, older opsets."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from compiler.errors import CompileError
from compiler.ir import affine
from compiler.ir.operator import Array, Call, Tensor
from compiler.ir.types import DType, TensorType, tensor
from compiler.ops.images.resize import COORDINATES, NEAREST, Line, line, nearest_index, resize
from tests.onnx_nodes import by_onnxruntime, computed, expected, imported, normal

SCALES = [(2.0, 3.0), (0.5, 1.5), (0.6, 0.8), (1.0, 2.5)]


def scales(*values: float) -> Array:
    return np.array(values, np.float32)


def known(values: Array) -> Tensor:
    return Tensor("p", TensorType(DType.from_numpy(values.dtype), values.shape), values)


@pytest.mark.parametrize("coordinates", [c for c in COORDINATES if c != "tf_half_pixel_for_nn"])
@pytest.mark.parametrize("factors", SCALES)
@pytest.mark.parametrize("by", ["reference", "lowering"])
def test_linear_agrees_with_onnx_in_all_coordinates(
    coordinates: str, factors: tuple[float, float], by: str
) -> None:
    x = normal(1, 1, 5, 4)
    attrs = {"mode": "linear", "coordinate_transformation_mode": coordinates}
    operands = (x, None, scales(1, 1, *factors))
    got = computed("Resize", *operands, opset=19, by=by, **attrs)
    np.testing.assert_allclose(got, expected("Resize", *operands, opset=19, **attrs), atol=1e-5)


@pytest.mark.parametrize("coordinates", [c for c in COORDINATES if c != "tf_half_pixel_for_nn"])
@pytest.mark.parametrize("nearest", NEAREST)
@pytest.mark.parametrize("sizes", [(10, 8), (3, 9), (5, 1)])
def test_nearest_agrees_with_onnx_in_all_coordinates_and_roundings(
    coordinates: str, nearest: str, sizes: tuple[int, int]
) -> None:
    x = np.arange(20, dtype=np.float32).reshape(1, 1, 5, 4)
    attrs = {"coordinate_transformation_mode": coordinates, "nearest_mode": nearest}
    operands = (x, None, None, np.array([1, 1, *sizes]))
    needed = expected("Resize", *operands, opset=19, **attrs)
    for by in ("reference", "lowering"):
        np.testing.assert_array_equal(
            computed("Resize", *operands, opset=19, by=by, **attrs), needed
        )


def test_the_old_half_pixel_of_nearest_lies_half_a_step_further() -> None:
    x = np.arange(4, dtype=np.float32).reshape(1, 1, 4)
    attrs = {"coordinate_transformation_mode": "tf_half_pixel_for_nn", "nearest_mode": "floor"}
    got = computed("Resize", x, None, scales(1, 1, 2), opset=11, **attrs)
    assert got.ravel().tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    got = computed("Resize", x, None, scales(1, 1, 0.5), opset=11, **attrs)
    assert got.ravel().tolist() == [1, 3]


@pytest.mark.parametrize("opset", [7, 9, 10])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("factors", [(2.0, 3.0), (1.0, 1.5)])
def test_upsample_and_the_first_resize_are_asymmetric(
    opset: int, mode: str, factors: tuple[float, float]
) -> None:
    x, given = normal(1, 2, 3, 4), scales(1, 1, *factors)
    if opset == 7:
        got = computed("Upsample", x, opset=7, mode=mode, scales=given.tolist())
        needed = by_onnxruntime("Upsample", x, opset=7, mode=mode, scales=given.tolist())
    else:
        op_type = "Upsample" if opset == 9 else "Resize"
        got = computed(op_type, x, given, opset=opset, mode=mode)
        needed = by_onnxruntime(op_type, x, given, opset=opset, mode=mode)
    np.testing.assert_allclose(got, needed, rtol=1e-5, atol=1e-6)


def test_the_first_upsample_has_a_height_and_a_width() -> None:
    x = normal(1, 2, 3, 4)
    made = computed("Upsample", x, opset=1, height_scale=2.0, width_scale=3.0, mode="nearest")
    np.testing.assert_array_equal(made, x.repeat(2, axis=2).repeat(3, axis=3))


# Types


@pytest.mark.parametrize(
    ("factor", "needed"), [(2.0, "f32[N,2*W]"), (0.5, "f32[N,W//2]"), (1.5, "f32[N,(3*W)//2]")]
)
def test_open_sizes_become_expressions(factor: float, needed: str) -> None:
    x = Tensor("x", tensor("f32[N,W]"))
    assert resize(x, known(scales(factor)), axes=(1,)).type == tensor(needed)


def test_wanted_sizes_may_be_symbols() -> None:
    sizes = np.empty(2, np.object_)
    sizes[:] = [affine.symbol("H") * 2, 7]
    p = Tensor("p", tensor("i64[2]"), sizes)
    made = resize(Tensor("x", tensor("f32[1,3,H,W]")), None, p, axes=(2, 3))
    assert made.type == tensor("f32[1,3,2*H,7]")


@pytest.mark.parametrize(
    ("operands", "attrs", "code"),
    [
        ((), {}, "E-OP-OPERANDS"),
        ((known(scales(2)), known(np.array([3]))), {}, "E-OP-OPERANDS"),
        ((known(scales(2, 2)),), {}, "E-OP-SHAPE"),
        ((known(scales(0)),), {}, "E-OP-ATTRIBUTE"),
        ((Tensor("p", tensor("f32[1]")),), {}, "E-SHAPE-OPEN"),
        ((known(scales(2)),), {"mode": "cubic"}, "E-OP-ATTRIBUTE"),
        ((known(scales(2)),), {"coordinates": "middle"}, "E-OP-ATTRIBUTE"),
        ((known(scales(2)),), {"axes": (5,)}, "E-OP-AXIS"),
    ],
)
def test_wrong_parameters_are_refused(
    operands: tuple[Tensor, ...], attrs: dict[str, Any], code: str
) -> None:
    with pytest.raises(CompileError) as e:
        resize(Tensor("x", tensor("f32[2,3]")), *operands, **{"axes": (1,), **attrs}).types()
    assert e.value.code == code


@pytest.mark.parametrize("coordinates", [*COORDINATES[:-1], "tf_crop_and_resize"])
@pytest.mark.parametrize(
    "attrs",
    [
        {"mode": "cubic"},
        {"mode": "cubic", "antialias": 1, "cubic_coeff_a": -0.5},
        {"mode": "cubic", "exclude_outside": 1},
        {"mode": "linear", "antialias": 1},
        {"mode": "linear", "keep_aspect_ratio_policy": "not_larger"},
        {"mode": "nearest", "keep_aspect_ratio_policy": "not_smaller", "nearest_mode": "ceil"},
    ],
)
def test_other_kinds_are_weighted_sums(coordinates: str, attrs: dict[str, Any]) -> None:
    x, roi = normal(2, 5, 7), np.array([0.13, 0.3, 0.8, 1.2], np.float32)
    attrs = {**attrs, "coordinate_transformation_mode": coordinates, "axes": [1, 2]}
    for sizes in (np.array([3, 11]), np.array([8, 4])):
        given = (x, roi if "crop" in coordinates else None, None, sizes)
        got = computed("Resize", *given, opset=19, **attrs)
        needed = expected("Resize", *given, opset=19, **attrs)
        np.testing.assert_allclose(got, needed, rtol=1e-4, atol=1e-5)


def test_smoothed_nearest_neighbours_are_left_to_the_reference() -> None:
    given = np.array([1, 1, 5, 5])
    assert imported("Resize", "f32[1,1,3,4]", None, None, given, opset=19, antialias=1) is None


def test_parameters_that_are_not_known_are_left_to_the_reference() -> None:
    given = scales(1, 1, 2, 2)
    assert imported("Resize", normal(1, 1, 2, 2), None, given, opset=13, known=False) is None


def test_an_empty_operand_counts_as_left_out() -> None:
    empty, sizes = np.zeros(0, np.float32), np.array([1, 1, 4, 6])
    made = imported("Resize", "f32[1,1,2,3]", empty, empty, sizes, opset=11)
    assert isinstance(made, Call)
    assert made.type == tensor("f32[1,1,4,6]")


# Coordinates


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("new_size", [1, 2, 3, 7, 10])
def test_lines_are_the_formulas_of_onnx(coordinates: str, new_size: int) -> None:
    size, scale = 5, Fraction(new_size, 5)
    at = line(coordinates, size, new_size, scale)
    for i in range(new_size):
        needed = {
            "half_pixel": (i + 0.5) / scale - Fraction(1, 2),
            "half_pixel_symmetric": (i + 0.5) / scale - Fraction(1, 2),
            "pytorch_half_pixel": (i + 0.5) / scale - Fraction(1, 2) if new_size > 1 else 0,
            "align_corners": i * (size - 1) / max(new_size - 1, 1),
            "asymmetric": i / scale,
            "tf_half_pixel_for_nn": (i + 0.5) / scale,
        }[coordinates]
        assert float(Fraction(at.a * i + at.b, at.c)) == pytest.approx(float(needed))


@pytest.mark.parametrize(
    ("rounding", "needed"),
    [
        ("floor", [0, 0, 0, 0, 1]),
        ("ceil", [0, 1, 1, 1, 1]),
        ("round_prefer_floor", [0, 0, 0, 1, 1]),
        ("round_prefer_ceil", [0, 0, 1, 1, 1]),
    ],
)
def test_halves_are_exact(rounding: str, needed: list[int]) -> None:
    assert [nearest_index(Line(1, 0, 4), i, rounding) for i in range(5)] == needed
