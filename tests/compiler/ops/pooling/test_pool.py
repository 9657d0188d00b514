"""Tests of pooling against ONNX Runtime: sizes, padding, counted elements, windows."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from compiler.errors import CompileError
from compiler.ir import affine
from compiler.ir.operator import Call, Tensor
from compiler.ir.types import tensor
from compiler.ops.convolution.window import output_dims, resolve_pads
from compiler.ops.pooling.pool import average_pool, max_pool
from tests.onnx_nodes import by_onnxruntime, computed, expected, imported, normal

PLAIN: dict[str, Any] = {
    "kernel": (3, 2), "strides": (2, 2), "pads": (0,) * 4, "dilations": (1, 1)
}  # fmt: skip


def x(text: str) -> Tensor:
    return Tensor("x", tensor(text))


@pytest.mark.parametrize(
    ("attrs", "needed"),
    [
        ({}, "f32[N,C,(H-3)//2+1,W//2]"),
        ({"auto_pad": "same_lower"}, "f32[N,C,(H+1)//2,(W+1)//2]"),
    ],
)
def test_open_sizes_of_the_image_become_expressions(attrs: dict[str, Any], needed: str) -> None:
    assert max_pool(x("f32[N,C,H,W]"), **{**PLAIN, **attrs}).type == tensor(needed)


@pytest.mark.parametrize("size", range(1, 14))
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("pads", [(0, 0), (1, 0), (1, 2)])
def test_with_ceil_mode_no_window_starts_behind_the_image(
    size: int, stride: int, pads: tuple[int, int]
) -> None:
    begin, end = pads
    (places,) = output_dims([size], [3], [stride], [begin, end], [1], "notset", True)
    starts = [s for s in range(0, size + begin, stride) if s < size + begin]
    room = size + begin + end - 3
    whole = -(-room // stride) + 1
    assert places == max(min(whole, len(starts)), 0)
    named = output_dims([affine.symbol("S")], [3], [stride], [begin, end], [1], "notset", True)
    assert max(0, int(affine.substitute(named[0], {"S": size}))) == places


@pytest.mark.parametrize(
    ("auto_pad", "needed"),
    [
        ("notset", ((5, 6), (7, 8))),
        ("valid", ((0, 0), (0, 0))),
        ("same_upper", ((0, 1), (1, 1))),
        ("same_lower", ((1, 1), (0, 1))),
    ],
)
def test_automatic_pads_put_the_odd_element_on_the_named_side(auto_pad: str, needed: Any) -> None:
    got = resolve_pads([6, 7], [3, 3], [2, 1], [5, 6, 7, 8], [1, 1], auto_pad)
    assert got == needed


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("op_type", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize("by", ["reference", "lowering"])
def test_pools_of_all_kinds_agree_with_onnxruntime(op_type: str, seed: int, by: str) -> None:
    rng = random.Random(seed)
    n = rng.choice([1, 2, 2, 3])
    kernel = [rng.randint(2, 3) for _ in range(n)]
    auto = rng.choice(["NOTSET", "NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"])
    attrs: dict[str, Any] = {
        "kernel_shape": kernel,
        "strides": [rng.randint(1, 2) for _ in range(n)],
        "auto_pad": auto,
    }
    if auto == "NOTSET":
        attrs["pads"] = [rng.randint(0, k - 1) for k in kernel * 2]
        attrs["dilations"] = [rng.randint(1, 2) for _ in range(n)]
        attrs["ceil_mode"] = rng.randint(0, 1)
    if op_type == "AveragePool":
        attrs["count_include_pad"] = rng.randint(0, 1)
    if op_type == "LpPool":
        attrs["p"] = rng.randint(1, 3)
        attrs.pop("ceil_mode", None)
    image = normal(2, 3, *(rng.randint(6, 9) for _ in range(n)), seed=seed)
    opset = {"MaxPool": 12, "AveragePool": 19, "LpPool": 18}[op_type]
    got = computed(op_type, image, opset=opset, by=by, **attrs)
    needed = by_onnxruntime(op_type, image, opset=opset, **attrs)
    np.testing.assert_allclose(got, needed, rtol=1e-5, atol=1e-6)


def test_padding_never_wins_a_maximum() -> None:
    image = np.full((1, 1, 2, 2), -5, np.float32)
    attrs = {"kernel_shape": [2, 2], "pads": [1, 1, 1, 1]}
    for by in ("reference", "lowering"):
        assert (computed("MaxPool", image, opset=12, by=by, **attrs) == -5).all()
        lowest = np.full((1, 1, 2, 2), -128, np.int8)
        assert (computed("MaxPool", lowest, opset=12, by=by, **attrs) == -128).all()


def test_pools_of_unknown_rank_and_of_other_norms_are_left_to_the_reference() -> None:
    assert imported("MaxPool", "f32[...]", opset=12, kernel_shape=[2, 2]) is None
    assert imported("LpPool", "f32[1,1,4]", opset=1, kernel_shape=[2], p=1.5) is None


@pytest.mark.parametrize(
    ("op_type", "attrs"),
    [("GlobalAveragePool", {}), ("GlobalMaxPool", {}), ("GlobalLpPool", {"p": 1}),
     ("GlobalLpPool", {})],
)  # fmt: skip
def test_global_pools_are_reductions(op_type: str, attrs: dict[str, Any]) -> None:
    image = normal(2, 3, 4, 5)
    made = imported(op_type, image, opset=2, **attrs)
    assert isinstance(made, Call)
    assert made.op.name.startswith("reduce_")
    assert made.op.bind(made.attrs) == {"axes": (2, 3), "keepdims": True}
    got = computed(op_type, image, opset=2, **attrs)
    needed = by_onnxruntime(op_type, image, opset=2, **attrs)
    np.testing.assert_allclose(got, needed, rtol=1e-5)


@pytest.mark.parametrize("by", ["reference", "lowering"])
def test_the_mean_of_taps_that_all_miss_the_image_is_0(by: str) -> None:
    image = normal(1, 2, 3, 1)
    attrs = {"kernel_shape": [2, 2], "pads": [1, 1, 0, 1], "dilations": [1, 2]}
    got = computed("AveragePool", image, opset=19, by=by, **attrs)
    np.testing.assert_array_equal(got, by_onnxruntime("AveragePool", image, opset=19, **attrs))
    assert not got.any()


def test_the_mean_of_no_element_is_nan_nowhere() -> None:
    """A window that `ceil_mode` adds still contains an element of the image."""
    image = normal(1, 1, 5, 5)
    attrs = {"kernel_shape": [2, 2], "pads": [1, 1, 1, 1], "strides": [2, 2], "ceil_mode": 1}
    got = computed("AveragePool", image, opset=19, **attrs)
    assert np.isfinite(got).all()
    np.testing.assert_allclose(got, expected("AveragePool", image, opset=19, **attrs), rtol=1e-5)


@pytest.mark.parametrize(
    ("attrs", "words"),
    [
        ({"kernel": (3,)}, "2 kernel for 2 spatial axes"),
        ({"pads": (0, 0)}, "4 pads"),
        ({"pads": (0, -1, 0, 0)}, "pads of at least 0"),
        ({"dilations": (0, 1)}, "dilations of at least 1"),
        ({"auto_pad": "SAME"}, "auto_pad as one of"),
    ],
)
def test_windows_that_are_no_windows_are_refused(attrs: dict[str, Any], words: str) -> None:
    with pytest.raises(CompileError, match=words) as e:
        average_pool(x("f32[1,2,5,5]"), **{**PLAIN, **attrs}).types()
    assert e.value.code == "E-OP-ATTRIBUTE"
