"""Tests of convolutions and transposed convolutions, against ONNX Runtime and each other."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from compiler.compute.builder import Lowering
from compiler.compute.computation import Stage
from compiler.errors import CompileError
from compiler.ir.operator import OPERATORS, Tensor
from compiler.ir.types import TensorType, tensor
from compiler.ops.convolution.conv import conv
from compiler.ops.convolution.conv_transpose import conv_transpose
from tests.onnx_nodes import by_onnxruntime, computed, imported, normal

PLAIN: dict[str, Any] = {"strides": (1, 1), "pads": (0,) * 4, "dilations": (1, 1)}


def x(text: str) -> Tensor:
    return Tensor("x", tensor(text))


def lowered(name: str, *types: str, **attrs: Any) -> Stage:
    (stage,) = stages(name, *types, **attrs)
    return stage


def stages(name: str, *types: str, **attrs: Any) -> list[Stage]:
    operator = OPERATORS[name]
    bound = operator.bind({**PLAIN, **attrs})
    tensors = [x(t) for t in types]
    (t,) = operator.infer(tensors, bound)
    assert isinstance(t, TensorType)
    k = Lowering(name)
    names = operator.schema.operands
    handles = [k.input(n, o.type) for n, o in zip(names, tensors, strict=False)]
    handles += [None] * (len(names) - len(handles))  # type: ignore[list-item]
    assert operator.lower_fn is not None
    operator.lower_fn(k, *handles, k.output("out", t), **bound)
    return [s for s in k.computation().stages if isinstance(s, Stage)]


# Types


@pytest.mark.parametrize(
    ("attrs", "needed"),
    [
        ({}, "f32[N,4,H-2,W-1]"),
        ({"pads": (1, 0, 1, 1)}, "f32[N,4,H,W]"),
        ({"strides": (2, 2), "pads": (1, 0, 1, 0)}, "f32[N,4,(H+1)//2,W//2]"),
        ({"strides": (2, 2), "auto_pad": "same_upper"}, "f32[N,4,(H+1)//2,(W+1)//2]"),
        ({"auto_pad": "valid"}, "f32[N,4,H-2,W-1]"),
    ],
)
def test_open_sizes_of_the_image_become_expressions(attrs: dict[str, Any], needed: str) -> None:
    made = conv(x("f32[N,3,H,W]"), x("f32[4,3,3,2]"), **{**PLAIN, **attrs}).type
    assert made == tensor(needed)


@pytest.mark.parametrize(
    ("types", "attrs", "code", "words"),
    [
        (("f32[1,3,5,5]", "f32[4,2,3,3]"), {}, "E-OP-SHAPE", "size 2 for the channels of x"),
        (("f32[1,4,5,5]", "f32[3,2,3,3]"), {"groups": 2}, "E-OP-SHAPE", "3 output channels"),
        (("f32[1,2,5,5]", "f32[3,2,3,3]", "f32[4]"), {}, "E-OP-SHAPE", "size 3 for b, got 4"),
        (("f32[1,2,5]", "f32[3,2,3,3]"), {}, "E-OP-SHAPE", "w of rank 3, got rank 4"),
        (("f32[1,2]", "f32[3,2]"), {}, "E-OP-SHAPE", "x of rank 3, 4, 5"),
        (("f32[1,2,5,5]", "f32[3,2,3,3]"), {"strides": (1,)}, "E-OP-ATTRIBUTE", "2 strides"),
        (("f32[1,2,5,5]", "f32[3,2,3,3]"), {"strides": (0, 1)}, "E-OP-ATTRIBUTE", "at least 1"),
        (("f32[1,2,5,5]", "f32[3,2,3,3]"), {"auto_pad": "same"}, "E-OP-ATTRIBUTE", "one of"),
        (("f32[1,2,5,5]", "f64[3,2,3,3]"), {}, "E-OP-DTYPE", "f32 and f64"),
        (("f32[1,2,5,5]", "f32[3,2,K,3]"), {}, "E-SHAPE-OPEN", "known size"),
    ],
)
def test_operands_that_do_not_fit_are_named(
    types: tuple[str, ...], attrs: dict[str, Any], code: str, words: str
) -> None:
    with pytest.raises(CompileError, match=words) as e:
        conv(*map(x, types), **{**PLAIN, **attrs}).types()
    assert e.value.code == code


# Lowerings that schedules recognise


def test_a_convolution_is_one_sum_of_products_with_named_axes() -> None:
    stage = lowered("conv", "f32[2,3,5,7]", "f32[4,3,3,2]", "f32[4]", pads=(1, 0, 1, 0))
    assert list(stage.extents) == ["n", "o", "y", "x", "i", "ky", "kx"]
    assert str(stage.value) == (
        "add(reduce_add([i, ky, kx], mul("
        "inside([(ky+y-1, 5)], x[n, i, ky+y-1, kx+x], f32(0)), w[o, i, ky, kx])), b[o])"
    )


def test_nothing_is_tested_where_no_window_leaves_the_image() -> None:
    stage = lowered("conv", "f32[2,3,5,7]", "f32[4,3,3,2]", strides=(2, 1))
    assert "inside" not in str(stage.value)


def test_groups_have_one_output_channel_axis() -> None:
    stage = lowered("conv", "f32[1,4,5,5]", "f32[6,2,3,3]", groups=2)
    assert "x[n, i+2*(o//3), ky+y, kx+x]" in str(stage.value)


def test_a_depthwise_convolution_sums_over_no_channel() -> None:
    stage = lowered("conv", "f32[1,3,5,5]", "f32[3,1,3,3]", groups=3)
    assert stage.reduce_axes == ("ky", "kx")
    assert "x[n, o, ky+y, kx+x], w[o, 0, ky, kx]" in str(stage.value)
    multiplied = lowered("conv", "f32[1,3,5,5]", "f32[6,1,3,3]", groups=3)
    assert "x[n, o//2, ky+y, kx+x]" in str(multiplied.value)


def test_taps_that_lie_outside_for_a_whole_part_are_not_summed() -> None:
    spread = {"dilations": (12, 1), "pads": (12, 0, 12, 0)}
    made = stages("conv", "f32[1,3,33,5]", "f32[4,3,3,2]", **spread)
    assert [(str(s.index[2]), s.extents[s.axes[2]], s.extents[s.reduce_axes[1]]) for s in made] == [
        ("y", 12, 2), ("y1+12", 9, 3), ("y2+21", 12, 2),
    ]  # fmt: skip
    assert not any("inside" in str(s.value) for s in made)
    # Phases with few positions would not fill a tile.
    assert (
        len(stages("conv", "f32[1,3,14,5]", "f32[4,3,3,2]", dilations=(4, 1), pads=(4, 0, 4, 0)))
        == 1
    )


def test_a_spread_out_convolution_in_parts_is_right() -> None:
    attrs = {"dilations": [11, 12], "pads": [11, 12, 11, 12]}
    image, weights = normal(1, 3, 31, 40), normal(5, 3, 3, 3, seed=1)
    got = computed("Conv", image, weights, opset=13, **attrs)
    needed = by_onnxruntime("Conv", image, weights, opset=13, **attrs)
    np.testing.assert_allclose(got, needed, rtol=1e-5, atol=1e-5)
    lowered_too = computed("Conv", image, weights, opset=13, by="lowering", **attrs)
    np.testing.assert_allclose(lowered_too, needed, rtol=1e-5, atol=1e-5)


def test_a_transposed_convolution_is_a_sum_for_each_phase_of_its_places() -> None:
    made = stages(
        "conv_transpose", "f32[1,3,4,5]", "f32[3,2,3,2]", strides=(2, 2), output_padding=(0, 0)
    )
    assert [", ".join(map(str, s.index[2:])) for s in made] == [
        "2*y, 2*x", "2*y1, 2*x1+1", "2*y2+1, 2*x2", "2*y3+1, 2*x3+1",
    ]  # fmt: skip
    first, _, third, last = made
    # Even rows use taps 0 and 2, others tap 1 only; one row is outside both borders.
    assert first.extents["ky"] == 2
    assert "inside([(-ky+y, 4)], x[n, i, -ky+y, -kx+x], f32(0)), w[i, o, 2*ky, 2*kx]" in str(
        first.value
    )
    assert third.extents["ky2"] == third.extents["kx2"] == 1
    assert "inside" not in str(third.value)
    assert "w[i3, o3, 2*ky3+1, 2*kx3+1]" in str(last.value)


def test_each_place_of_a_spread_element_meets_one_tap() -> None:
    (stage,) = stages("conv_transpose", "f32[1,3,1,1]", "f32[3,2,4,3]", output_padding=(0, 0))
    assert stage.extents["ky"] == stage.extents["kx"] == 1
    assert "x[n, i, ky, kx], w[i, o, y, x]" in str(stage.value)


def test_axes_with_too_many_phases_are_one_stage() -> None:
    made = stages(
        "conv_transpose", "f32[1,3,2,4]", "f32[3,2,8,4]", strides=(8, 4), output_padding=(0, 0)
    )
    assert len(made) == 4
    assert "w[i, o, 8*ky+y%8, 4*kx]" in str(made[0].value)


# Results


def windows(rng: random.Random, n: int) -> dict[str, Any]:
    def numbers(low: int, high: int) -> list[int]:
        return [rng.randint(low, high) for _ in range(n)]

    auto = rng.choice(["NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"])
    made: dict[str, Any] = {"auto_pad": auto, "group": rng.choice([1, 1, 2, 3])}
    if auto.startswith("SAME"):
        return {**made, "strides": numbers(1, 2), "dilations": [1] * n}
    made |= {"strides": numbers(1, 3), "dilations": numbers(1, 2)}
    return {**made, "pads": numbers(0, 2) + numbers(0, 2)} if auto == "NOTSET" else made


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("by", ["reference", "lowering"])
def test_convolutions_of_all_kinds_agree_with_onnxruntime(seed: int, by: str) -> None:
    rng = random.Random(seed)
    n = rng.choice([1, 2, 2, 3])
    attrs = windows(rng, n)
    inner, outer, g = rng.randint(1, 3), rng.randint(1, 3), attrs["group"]
    kernel = [rng.randint(2, 3) for _ in range(n)]
    image = normal(2, g * inner, *(rng.randint(6, 8) for _ in range(n)), seed=seed)
    weights, bias = normal(g * outer, inner, *kernel, seed=seed + 1), normal(g * outer, seed=9)
    got = computed("Conv", image, weights, bias, opset=13, by=by, **attrs)
    needed = by_onnxruntime("Conv", image, weights, bias, opset=13, **attrs)
    np.testing.assert_allclose(got, needed, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("by", ["reference", "lowering"])
def test_transposed_convolutions_of_all_kinds_agree_with_onnxruntime(seed: int, by: str) -> None:
    rng = random.Random(100 + seed)
    n = rng.choice([1, 2, 2, 3])
    attrs = windows(rng, n)
    inner, outer, g = rng.randint(1, 3), rng.randint(1, 3), attrs["group"]
    if attrs["auto_pad"] == "NOTSET" and seed % 2:
        attrs["output_padding"] = [rng.randint(0, s - 1) for s in attrs["strides"]]
    kernel = [rng.randint(3, 4) for _ in range(n)]
    image = normal(2, g * inner, *(rng.randint(3, 5) for _ in range(n)), seed=seed)
    weights, bias = normal(g * inner, outer, *kernel, seed=seed + 1), normal(g * outer, seed=9)
    got = computed("ConvTranspose", image, weights, bias, opset=11, by=by, **attrs)
    needed = by_onnxruntime("ConvTranspose", image, weights, bias, opset=11, **attrs)
    np.testing.assert_allclose(got, needed, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("dilations", [(1, 1), (2, 1)])
def test_the_transpose_of_a_convolution_is_its_adjoint(
    groups: int, dilations: tuple[int, int]
) -> None:
    """<conv(x), y> = <x, conv_transpose(y)> for the same weights and windows."""
    window = {"strides": (2, 3), "pads": (1, 0, 1, 0), "dilations": dilations}
    image = normal(2, 4, 9, 7, dtype=np.float64)
    weights = normal(6, 4 // groups, 3, 4, seed=1, dtype=np.float64)
    assert conv.reference_fn is not None
    assert conv_transpose.reference_fn is not None
    made = conv.reference_fn(image, weights, **window, groups=groups, auto_pad="notset")
    other = normal(*made.shape, seed=2, dtype=np.float64)
    back = conv_transpose.reference_fn(
        other,
        weights,
        **window,
        groups=groups,
        auto_pad="notset",
        output_padding=remainder(image.shape[2:], made.shape[2:], weights.shape[2:], window),
        output_shape=(),
    )
    assert back.shape == image.shape
    np.testing.assert_allclose((made * other).sum(), (image * back).sum(), rtol=1e-10)


def remainder(
    sizes: tuple[int, ...], places: tuple[int, ...], kernel: tuple[int, ...], w: dict[str, Any]
) -> tuple[int, ...]:
    """Return rows of the image after the last window, for which the transpose must give zeros."""
    found: list[int] = []
    for d, size in enumerate(sizes):
        reached = (places[d] - 1) * w["strides"][d] + w["dilations"][d] * (kernel[d] - 1) + 1
        found.append(size + w["pads"][d] + w["pads"][2 + d] - reached)
    return tuple(found)


def test_a_given_output_shape_replaces_the_pads() -> None:
    image, weights = normal(1, 2, 3, 4), normal(2, 3, 3, 3, seed=1)
    for sizes in ([5, 7], [7, 8], [6, 9], [8, 10]):
        attrs = {"strides": [2, 2], "output_shape": sizes}
        got = computed("ConvTranspose", image, weights, opset=11, **attrs)
        needed = by_onnxruntime("ConvTranspose", image, weights, opset=11, **attrs)
        np.testing.assert_allclose(got, needed, rtol=1e-5, atol=1e-6)


def test_what_has_no_static_kernel_is_left_to_the_reference() -> None:
    assert imported("Conv", "f32[1,2,5,5]", "f32[3,2,K,3]", opset=13) is None
    assert imported("Conv", "f32[...]", "f32[3,2,3,3]", opset=13) is None
    assert imported("ConvTranspose", "f32[1,2,5,5,5,5]", "f32[2,3,3,3,3,3]", opset=13) is None
