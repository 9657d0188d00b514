"""Tests of normalisations: statistics per channel, group and layer; the training mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler
from compiler.errors import CompileError
from compiler.ir.operator import OPERATORS, Tensor
from compiler.ir.types import tensor
from compiler.ops.normalization.normalise import batch_norm
from tests.onnx_models import model, node, stored, value
from tests.onnx_nodes import by_onnxruntime, computed, expected, imported, normal

STATISTICS = ("f32[3]",) * 4


def x(text: str) -> Tensor:
    return Tensor("x", tensor(text))


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4), (2, 3, 4, 5), (1, 3, 2, 2, 2)])
@pytest.mark.parametrize("by", ["reference", "lowering"])
def test_batch_norm_works_on_every_rank(shape: tuple[int, ...], by: str) -> None:
    image = normal(*shape)
    scale, bias, mean = (normal(3, seed=s) for s in (1, 2, 3))
    var = np.abs(normal(3, seed=4))
    operands = (image, scale, bias, mean, var)
    got = computed("BatchNormalization", *operands, opset=15, by=by, epsilon=0.01)
    needed = expected("BatchNormalization", *operands, opset=15, epsilon=0.01)
    np.testing.assert_allclose(got, needed, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("opset", "attrs", "n_outputs", "is_ours"),
    [
        (15, {}, 1, True),
        (15, {"training_mode": 1}, 3, True),
        (9, {}, 1, True),
        (9, {}, 5, False),
        (7, {"spatial": 0}, 1, False),
        (7, {}, 1, True),
        (6, {"is_test": 1}, 1, True),
        (6, {}, 1, False),
    ],
)
def test_which_forms_become_operators_of_ours(
    opset: int, attrs: dict[str, Any], n_outputs: int, is_ours: bool
) -> None:
    made = imported(
        "BatchNormalization", "f32[2,3,4]", *STATISTICS, opset=opset, n_outputs=n_outputs, **attrs
    )
    assert (made is not None) == is_ours


def test_statistics_of_another_type_are_left_to_the_reference() -> None:
    mixed = ("f16[2,3,4]", *STATISTICS)
    assert imported("BatchNormalization", *mixed, opset=15) is None


@pytest.mark.parametrize(
    ("image", "statistics", "words"),
    [
        ("f32[2,4,5]", "f32[3]", "size 4 for scale, got 3"),
        ("f32[2,3,5]", "f32[3,1]", "scale of rank 1"),
        ("f32[3]", "f32[3]", "channel axis"),
    ],
)
def test_statistics_have_one_element_per_channel(image: str, statistics: str, words: str) -> None:
    with pytest.raises(CompileError, match=words) as e:
        batch_norm(x(image), *(x(statistics) for _ in range(4))).types()
    assert e.value.code == "E-OP-SHAPE"


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("channels", [1, 4, 7])
@pytest.mark.parametrize("by", ["reference", "lowering"])
def test_local_response_counts_channels_on_both_sides(size: int, channels: int, by: str) -> None:
    image = normal(2, channels, 3, 2)
    squares = np.zeros_like(image)
    for c in range(channels):
        low, high = max(0, c - (size - 1) // 2), min(channels - 1, c + size // 2)
        squares[:, c] = (image[:, low : high + 1] ** 2).sum(axis=1)
    needed = image / (1.5 + 0.3 / size * squares) ** 0.6
    attrs = {"size": size, "alpha": 0.3, "beta": 0.6, "bias": 1.5}
    got = computed("LRN", image, opset=13, by=by, **attrs)
    np.testing.assert_allclose(got, needed, rtol=1e-5)


@pytest.mark.parametrize("axis", [-3, -1, 1, 0])
@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize("by", ["reference", "lowering"])
def test_layer_norm_agrees_with_onnxruntime(axis: int, has_bias: bool, by: str) -> None:
    given = normal(2, 3, 4)
    scale = normal(*given.shape[axis:], seed=1)
    bias = normal(*given.shape[axis:], seed=2) if has_bias else None
    got = computed("LayerNormalization", given, scale, bias, opset=17, by=by, axis=axis)
    operands = [o for o in (given, scale, bias) if o is not None]
    needed = by_onnxruntime("LayerNormalization", *operands, opset=17, axis=axis)
    np.testing.assert_allclose(got, needed, rtol=1e-4, atol=1e-5)


def test_a_layer_norm_gives_its_statistics() -> None:
    """The variance of one element is 0, and a large mean keeps its digits."""
    for size in (1, 6):
        given = normal(3, size) + np.float32(1e4)
        made = model(
            [node("LayerNormalization", ["x", "s"], ["y", "mean", "inverse"], epsilon=1e-3)],
            [value("x", given.shape)],
            [value(o, None) for o in ("y", "mean", "inverse")],
            [stored("s", np.ones(size, np.float32))],
            opset=17,
        )
        got = compiler.compile(made.SerializeToString()).run({"x": given})
        exact = given.astype(np.float64)
        inverse = 1 / np.sqrt(exact.var(1, keepdims=True) + 1e-3)
        np.testing.assert_allclose(got["mean"], exact.mean(1, keepdims=True), rtol=1e-6)
        np.testing.assert_allclose(got["inverse"], inverse, rtol=1e-5 if size == 1 else 1e-2)


@pytest.mark.parametrize("name", ["layer_norm", "rms_norm"])
def test_a_scale_larger_than_the_tensor_is_refused(name: str) -> None:
    with pytest.raises(CompileError, match="cannot broadcast") as e:
        OPERATORS[name](x("f32[3]"), x("f32[2,3]")).types()
    assert e.value.code == "E-OP-SHAPE"


def test_channels_that_do_not_divide_into_groups_are_refused() -> None:
    with pytest.raises(CompileError, match="5 channels into 2 groups") as e:
        OPERATORS["group_norm"](x("f32[1,5,2]"), x("f32[5]"), x("f32[5]"), groups=2).types()
    assert e.value.code == "E-OP-SHAPE"


@pytest.mark.parametrize("mean", [0.0, 1e4, -1e6])
@pytest.mark.parametrize(
    ("name", "opset", "axes", "attrs"),
    [
        ("MeanVarianceNormalization", 13, (0, 2, 3), {}),
        ("MeanVarianceNormalization", 13, (1, 3), {"axes": [-1, 1]}),
        ("LayerNormalization", 17, (1, 2, 3), {"axis": 1}),
        ("InstanceNormalization", 17, (2, 3), {}),
        ("GroupNormalization", 18, (2, 3), {"num_groups": 4}),
        ("BatchNormalization", 15, (0, 2, 3), {"training_mode": 1}),
    ],
)
def test_a_large_mean_leaves_the_digits_of_the_deviations(
    mean: float, name: str, opset: int, axes: tuple[int, ...], attrs: dict[str, Any]
) -> None:
    """f32 represents 1e6 to 1/16; the deviations are around 1."""
    given = (normal(3, 4, 8, 7) + np.float32(mean)).astype(np.float32)
    exact = given.astype(np.float64)
    centred = exact - exact.mean(axes, keepdims=True)
    epsilon = 0.0 if name == "MeanVarianceNormalization" else 1e-5
    needed = centred / np.sqrt((centred**2).mean(axes, keepdims=True) + epsilon)
    size = given.shape[1:] if name == "LayerNormalization" else (4,)
    ones, zeros = np.ones(size, np.float32), np.zeros(size, np.float32)
    parameters = {
        "MeanVarianceNormalization": [],
        "BatchNormalization": [ones, zeros, zeros, ones],
    }.get(name, [ones, zeros])
    names = [f"p{i}" for i in range(len(parameters))]
    outputs = ["y", "m", "v"] if name == "BatchNormalization" else ["y"]
    made = model(
        [node(name, ["x", *names], outputs, **attrs)],
        [value("x", given.shape)],
        [value(o, None) for o in outputs],
        [stored(n, p) for n, p in zip(names, parameters, strict=True)],
        opset=opset,
    )
    got = compiler.compile(made.SerializeToString()).run({"x": given})["y"]
    # The mean and the deviations are rounded; an exact deviation of 1 may become 0.3.
    distance = float(np.spacing(np.float32(abs(mean))))
    np.testing.assert_allclose(got, needed, atol=4 * distance + 1e-4)
