"""Resize, sampling at computed positions, and regions of interest."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.outside.draft import Draft
from tests.outside.families.windows import image
from tests.outside.family import family

WHERE = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric")
NEAREST = (None, "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


@family("Resize", weight=2)
def _(d: Draft, op: str) -> None:
    """By scales and by sizes, in all modes, with antialiasing for smaller results."""
    mode = d.chance.choice(("nearest", "linear", "cubic"))
    n = 2 if mode != "nearest" else d.chance.choice((1, 2, 3))
    # Results between integers are truncated, so rounding would decide.
    x = image(d, ("f32", "f32", "u8", "i32") if mode == "nearest" else ("f32",), n)
    where = d.chance.choice((None, *WHERE))
    attrs: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": where}
    if mode == "nearest":
        attrs["nearest_mode"] = d.chance.choice(NEAREST)
    if mode == "cubic":
        attrs["cubic_coeff_a"] = d.chance.choice((None, -0.5))
        attrs["exclude_outside"] = d.chance.choice((None, 0, 1))
    sizes = d.shape(x)
    if d.maybe():
        # With 0.6, positions are on the border of two elements, so rounding would decide.
        factors = (0.5, 1.0, 2.0, 3.0) if mode == "nearest" else (0.5, 0.6, 1.0, 1.5, 2.0, 3.0)
        if mode == "nearest" and where == "half_pixel_symmetric":
            attrs["nearest_mode"] = "round_prefer_floor"  # others border on whole places
        by = [1.0, 1.0, *(d.chance.choice(factors) for _ in range(n))]
        d.one(op, [x, "", d.constant(np.asarray(by, np.float32))], **attrs)
        return
    target = [*sizes[:2], *(d.chance.choice((1, 2, 3, 5, 8, 13)) for _ in range(n))]
    d.one(op, [x, "", "", d.numbers(target)], **attrs)


@family("GridSample")
def _(d: Draft, op: str) -> None:
    n = d.chance.choice((2, 2, 3))
    x = image(d, ("f32",), n)
    shape = [d.chance.choice((1, 2, 3, 5)) for _ in range(n)]
    numbers = np.random.default_rng(d.chance.getrandbits(32))
    grid = d.given(numbers.uniform(-1.3, 1.3, (d.shape(x)[0], *shape, n)).astype(np.float32))
    names = ("linear", "nearest", "cubic") if d.opset >= 20 else ("bilinear", "nearest", "bicubic")
    d.one(
        op,
        [x, grid],
        mode=d.chance.choice((None, *names)) if n == 2 else d.chance.choice(names[:2]),
        padding_mode=d.chance.choice((None, "zeros", "border", "reflection")),
        align_corners=d.chance.choice((None, 0, 1)),
    )


def regions(d: Draft, height: int, width: int, n: int) -> np.ndarray:
    """Return corners x1, y1, x2, y2 inside an image."""
    numbers = np.random.default_rng(d.chance.getrandbits(32))
    low = numbers.uniform(0, 0.5, (n, 2))
    high = low + numbers.uniform(0.2, 0.5, (n, 2))
    return (np.concatenate([low, high], 1) * [width, height, width, height]).astype(np.float32)


@family("RoiAlign", weight=0.7)
def _(d: Draft, op: str) -> None:
    x = image(d, ("f32",), 2)
    batch, _, height, width = d.shape(x)
    n = d.chance.choice((1, 3))
    rois = d.given(regions(d, height, width, n))
    owner = d.given(np.asarray([d.chance.randrange(batch) for _ in range(n)], np.int64))
    d.one(
        op,
        [x, rois, owner],
        mode=d.chance.choice((None, "avg", "max")),
        output_height=d.chance.choice((1, 2, 3)),
        output_width=d.chance.choice((1, 2, 3)),
        sampling_ratio=d.chance.choice((0, 1, 2)),
        spatial_scale=d.chance.choice((None, 0.5)),
        coordinate_transformation_mode=d.chance.choice((None, "output_half_pixel", "half_pixel")),
    )


@family("MaxRoiPool", weight=0.7)
def _(d: Draft, op: str) -> None:
    x = image(d, ("f32",), 2)
    batch, _, height, width = d.shape(x)
    n = d.chance.choice((1, 3))
    owner = [[d.chance.randrange(batch)] for _ in range(n)]
    corners = np.floor(regions(d, height, width, n)).clip(0, [width - 1, height - 1] * 2)
    rois = d.given(np.concatenate([owner, corners], 1).astype(np.float32))
    d.one(op, [x, rois], pooled_shape=[d.chance.choice((1, 2)), d.chance.choice((1, 2))])
