"""Convolutions that are measured singly: those of ResNet-50, and families of other networks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import helper

from benchmarks.products import Case, product_model

Sizes = int | tuple[int, ...]


def convolutions() -> Iterator[Case]:
    """Yield all convolutions, family by family."""
    for channels, filters, size, kernel, stride in RESNET:
        name = f"{channels}->{filters}@{size} {kernel}x{kernel} stride {stride}"
        yield convolution("conv", name, channels, filters, size, kernel, strides=stride)
    for family, listed in FAMILIES.items():
        for name, (channels, filters, size, kernel), more in listed:
            label = name or _label(family, channels, filters, size, kernel, more)
            yield convolution(family, label, channels, filters, size, kernel, **more)


RESNET = (
    (3, 64, 224, 7, 2), (64, 64, 56, 1, 1), (64, 64, 56, 3, 1), (64, 256, 56, 1, 1),
    (256, 64, 56, 1, 1), (256, 128, 56, 1, 1), (128, 128, 56, 3, 2), (128, 512, 28, 1, 1),
    (256, 512, 56, 1, 2), (512, 128, 28, 1, 1), (128, 128, 28, 3, 1), (512, 256, 28, 1, 1),
    (256, 256, 28, 3, 2), (256, 1024, 14, 1, 1), (512, 1024, 28, 1, 2), (1024, 256, 14, 1, 1),
    (256, 256, 14, 3, 1), (1024, 512, 14, 1, 1), (512, 512, 14, 3, 2), (512, 2048, 7, 1, 1),
    (1024, 2048, 14, 1, 2), (2048, 512, 7, 1, 1), (512, 512, 7, 3, 1),
)  # fmt: skip
"""Channels, filters, image size, kernel size and stride of all convolutions of ResNet-50."""

Listed = tuple[str, tuple[int, int, Sizes, Sizes], Mapping[str, Any]]

FAMILIES: Mapping[str, Sequence[Listed]] = {
    "other": (
        ("depthwise 3x3 96@56", (96, 96, 56, 3), {"groups": 96}),
        ("depthwise 3x3 stride 2 96@112", (96, 96, 112, 3), {"groups": 96, "strides": 2}),
        ("depthwise 5x5 480@14", (480, 480, 14, 5), {"groups": 480}),
        ("32 groups 3x3 128@56", (128, 128, 56, 3), {"groups": 32}),
        ("2 groups 5x5 96->256@26", (96, 256, 26, 5), {"groups": 2}),
        ("dilated 3x3 256@28", (256, 256, 28, 3), {"dilations": 2}),
        (
            "transposed 4x4 stride 2 128->64@28",
            (128, 64, 28, 4),
            {"strides": 2, "transposed": True},
        ),
        ("1-D 5 64->512@2048", (64, 512, (2048,), 5), {}),
        ("3-D 3x3x3 32->64@28", (32, 64, (28, 28, 28), 3), {}),
        ("first layer 3x3 stride 2 3->32@224", (3, 32, 224, 3), {"strides": 2}),
    ),
    "first": (
        ("", (3, 32, 299, 3), {"strides": 2, "pad": 0}),
        ("", (3, 64, 224, 3), {}),
        ("", (1, 32, 28, 5), {}),
        ("", (3, 96, 224, 4), {"strides": 4, "pad": 0}),
        ("", (3, 16, 320, 6), {"strides": 2}),
        ("", (4, 48, 64, 3), {}),
        ("", (3, 96, 227, 11), {"strides": 4, "pad": 0}),
    ),
    "depthwise": (
        ("", (32, 32, 112, 3), {"groups": 32}),
        ("", (144, 144, 56, 3), {"groups": 144, "strides": 2}),
        ("", (240, 240, 28, 5), {"groups": 240, "strides": 2}),
        ("", (40, 40, 28, 5), {"groups": 40}),
        ("", (96, 96, 56, 7), {"groups": 96}),
        ("", (768, 768, 7, 7), {"groups": 768}),
        ("", (64, 64, 28, 3), {"groups": 64, "dilations": 2}),
        ("", (960, 960, 7, 3), {"groups": 960}),
        ("", (32, 64, 56, 3), {"groups": 32}),
        ("", (256, 256, (1000,), 31), {"groups": 256}),
    ),
    "grouped": (
        ("", (256, 256, 28, 3), {"groups": 32}),
        ("", (1024, 1024, 14, 3), {"groups": 32, "strides": 2}),
        ("", (512, 512, 14, 3), {"groups": 32}),
        ("", (144, 144, 28, 3), {"groups": 6}),
        ("", (60, 240, 28, 1), {"groups": 3}),
        ("", (192, 192, 28, 3), {"groups": 8}),
        ("", (96, 96, 28, 3), {"groups": 16}),
    ),
    "dilated": (
        ("", (512, 512, 14, 3), {"dilations": 4}),
        ("", (128, 128, 33, 3), {"dilations": 12}),
        ("", (64, 64, (4000,), 3), {"dilations": 8}),
    ),
    "transposed": (
        ("", (512, 256, 8, 4), {"strides": 2, "transposed": True}),
        ("", (64, 3, 32, 4), {"strides": 2, "transposed": True}),
        ("", (100, 512, 1, 4), {"pad": 0, "transposed": True}),
        ("", (256, 128, 28, 2), {"strides": 2, "pad": 0, "transposed": True}),
        ("", (128, 64, 56, 2), {"strides": 2, "pad": 0, "transposed": True}),
        ("", (64, 64, 28, 3), {"strides": 2, "output_padding": 1, "transposed": True}),
        ("", (64, 32, 56, 3), {"transposed": True}),
        ("", (64, 64, 28, 4), {"strides": 2, "groups": 4, "transposed": True}),
        ("", (24, 1, 80, 2), {"strides": 2, "pad": 0, "transposed": True}),
        ("", (256, 128, (512,), 16), {"strides": 8, "pad": 4, "transposed": True}),
        ("", (64, 32, (14, 14, 14), 2), {"strides": 2, "pad": 0, "transposed": True}),
    ),
    "audio": (
        ("", (1, 64, (16000,), 10), {"strides": 5, "pad": 0}),
        ("", (128, 128, (3200,), 3), {"strides": 2}),
        ("", (256, 256, (500,), 1), {}),
        ("", (80, 384, (3000,), 3), {}),
        ("", (512, 512, (128,), 3), {}),
        ("", (32, 32, (8000,), 7), {}),
    ),
    "volume": (
        ("", (3, 64, (8, 56, 56), (3, 7, 7)), {"strides": (1, 2, 2)}),
        ("", (64, 64, (8, 28, 28), 3), {}),
        ("", (128, 128, (8, 14, 14), (3, 1, 1)), {}),
        ("", (16, 32, (32, 32, 32), 3), {"strides": 2}),
    ),
    "few": (
        ("", (16, 16, 112, 3), {}),
        ("", (24, 24, 56, 3), {}),
        ("", (40, 40, 28, 3), {}),
        ("", (16, 96, 112, 1), {}),
        ("", (24, 144, 56, 1), {}),
        ("", (144, 24, 56, 1), {}),
        ("", (240, 40, 28, 1), {}),
        ("", (64, 21, 56, 1), {}),
        ("", (64, 1, 64, 3), {}),
        ("", (32, 3, 128, 3), {}),
        ("", (8, 8, 64, 3), {}),
    ),
    "odd": (
        ("", (192, 192, 17, (1, 7)), {}),
        ("", (192, 192, 17, (7, 1)), {}),
        ("", (384, 384, 8, (1, 3)), {}),
        ("", (384, 384, 8, (3, 1)), {}),
        ("", (48, 64, 35, 5), {}),
        ("", (96, 96, 35, 3), {}),
        ("", (64, 96, 35, 3), {}),
        ("", (96, 96, 35, 3), {"strides": 2, "pad": 0}),
        ("", (32, 64, 147, 3), {"pad": 0}),
        ("", (80, 192, 73, 3), {"pad": 0}),
        ("", (768, 192, 17, 1), {}),
        ("", (1280, 320, 8, 1), {}),
        ("", (128, 128, 13, 3), {}),
        ("", (512, 1024, 13, 1), {}),
        ("", (64, 64, 27, 5), {}),
        ("", (160, 160, 7, 1), {}),
    ),
}
"""By family: a name or "", channels, filters, sizes of the image and of the kernel, attributes.

A size that is a single number applies to both axes of an image."""


def convolution(
    group: str,
    name: str,
    channels: int,
    filters: int,
    size: Sizes,
    kernel: Sizes,
    *,
    strides: Sizes = 1,
    dilations: int = 1,
    groups: int = 1,
    pad: int | None = None,
    output_padding: int = 0,
    transposed: bool = False,
) -> Case:
    """Return a convolution; the default padding preserves the size at stride 1."""
    sizes = size if isinstance(size, tuple) else (size, size)
    rank = len(sizes)
    taps = kernel if isinstance(kernel, tuple) else (kernel,) * rank
    steps = strides if isinstance(strides, tuple) else (strides,) * rank
    pads = [dilations * (k - 1) // 2 if pad is None else pad for k in taps]
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1, channels, *sizes)).astype(np.float32)
    of_weights = (channels, filters // groups) if transposed else (filters, channels // groups)
    w = rng.standard_normal((*of_weights, *taps)).astype(np.float32)
    more: dict[str, Any] = {"output_padding": [output_padding] * rank} if transposed else {}
    node = helper.make_node(
        "ConvTranspose" if transposed else "Conv", ["x", "w"], ["y"], pads=[*pads, *pads],
        strides=list(steps), group=groups, dilations=[dilations] * rank, **more,
    )  # fmt: skip
    each = list(zip(sizes, taps, steps, pads, strict=True))
    if transposed:
        out = [(n - 1) * s - 2 * p + k + output_padding for n, k, s, p in each]
    else:
        out = [(n + 2 * p - dilations * (k - 1) - 1) // s + 1 for n, k, s, p in each]
    n_points = float(np.prod(sizes if transposed else out))
    flops = 2.0 * filters * (channels // groups) * float(np.prod(taps)) * n_points
    model = product_model([node], {"x": x}, {"w": w}, (1, filters, *out))
    return Case(group, name, model, {"x": x}, flops)


def _label(
    family: str,
    channels: int,
    filters: int,
    size: Sizes,
    kernel: Sizes,
    more: Mapping[str, Any],
) -> str:
    words = [f"{k} {_text(v)}" for k, v in more.items() if k != family]
    return " ".join([family, f"{channels}->{filters}@{_text(size)} {_text(kernel)}", *words])


def _text(value: Any) -> str:
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)
