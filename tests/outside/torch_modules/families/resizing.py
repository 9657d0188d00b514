"""interpolate in all modes, by sizes and by factors; sampling grids; pixel shuffles."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.outside.torch_modules.case import Case, call, f, module


def _interpolate(name: str, shape: tuple[int | str, ...], **how: object) -> Case:
    return call(name, lambda x: F.interpolate(x, **how), f(*shape))  # pyright: ignore


FACTORS = {
    1: (1.7, 0.6, 2.0),
    2: ((1.7, 2.3), (0.6, 0.45), (2, 3)),
    3: ((1.3, 0.7, 2.1), (0.5, 0.5, 0.5)),
}
SHAPES = {1: ("N", 3, "L"), 2: ("N", 3, "H", "W"), 3: ("N", 2, "D", "H", "W")}
LINEAR = {1: "linear", 2: "bilinear", 3: "trilinear"}


def _by_factors() -> list[Case]:
    cases: list[Case] = []
    for rank, factors in FACTORS.items():
        for n, factor in enumerate(factors):
            for mode in ("nearest", "nearest-exact"):
                cases.append(
                    _interpolate(
                        f"{mode}_{rank}d_{n}", SHAPES[rank], scale_factor=factor, mode=mode
                    )
                )
            for aligned in (False, True):
                name = f"linear_{rank}d_{n}_{'aligned' if aligned else 'half'}"
                cases.append(
                    _interpolate(
                        name,
                        SHAPES[rank],
                        scale_factor=factor,
                        mode=LINEAR[rank],
                        align_corners=aligned,
                    )
                )
    for n, factor in enumerate(FACTORS[2]):
        for aligned in (False, True):
            name = f"cubic_{n}_{'aligned' if aligned else 'half'}"
            cases.append(
                _interpolate(
                    name, SHAPES[2], scale_factor=factor, mode="bicubic", align_corners=aligned
                )
            )
    return cases


def _by_sizes() -> list[Case]:
    cases: list[Case] = []
    for n, size in enumerate(((7, 19), (26, 5), (1, 1))):
        for mode in ("nearest", "nearest-exact", "area"):
            cases.append(_interpolate(f"{mode}_to_{n}", SHAPES[2], size=size, mode=mode))
        for mode in ("bilinear", "bicubic"):
            for aligned in (False, True):
                name = f"{mode}_to_{n}_{'aligned' if aligned else 'half'}"
                cases.append(
                    _interpolate(name, SHAPES[2], size=size, mode=mode, align_corners=aligned)
                )
            cases.append(
                _interpolate(
                    f"{mode}_to_{n}_antialias", SHAPES[2], size=size, mode=mode, antialias=True
                )
            )
    return cases


def _grids() -> list[Case]:
    cases: list[Case] = []
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            for aligned in (False, True):
                how = {"mode": mode, "padding_mode": padding, "align_corners": aligned}
                cases.append(
                    call(
                        f"grid_{mode}_{padding}_{'aligned' if aligned else 'half'}",
                        lambda x, g, how=how: F.grid_sample(x, g, **how),
                        f("N", 3, "H", "W"),
                        f("N", 6, "L", 2, scale=0.8),
                    )
                )
    for mode in ("bilinear", "nearest"):
        cases.append(
            call(
                f"grid_3d_{mode}",
                lambda x, g, mode=mode: F.grid_sample(
                    x, g, mode=mode, padding_mode="border", align_corners=False
                ),
                f(2, 3, 5, 6, 7),
                f(2, 3, 4, 5, 3, scale=0.8),
                opset={"torchscript": 20},
            )
        )
    for aligned in (False, True):
        name = "aligned" if aligned else "half"
        cases.append(
            call(
                f"affine_grid_{name}",
                lambda t, a=aligned: F.affine_grid(t, [2, 3, 5, 7], a),
                f(2, 2, 3),
                opset={"torchscript": 20},
            )
        )
        cases.append(
            call(
                f"affine_grid_3d_{name}",
                lambda t, a=aligned: F.affine_grid(t, [2, 3, 4, 5, 7], a),
                f(2, 3, 4),
                opset={"torchscript": 20},
            )
        )
    return cases


CASES = [
    *_by_factors(),
    *_by_sizes(),
    *_grids(),
    _interpolate(
        "recomputed",
        SHAPES[2],
        scale_factor=(1.7, 0.7),
        mode="bilinear",
        recompute_scale_factor=True,
    ),
    _interpolate(
        "antialias_factor", SHAPES[2], scale_factor=(0.6, 0.4), mode="bilinear", antialias=True
    ),
    _interpolate(
        "antialias_enlarge", SHAPES[2], scale_factor=(1.6, 0.4), mode="bicubic", antialias=True
    ),
    module("upsample", lambda: nn.Upsample(scale_factor=2), f("N", 3, "H", "W")),
    module(
        "upsample_aligned", lambda: nn.UpsamplingBilinear2d(scale_factor=3), f("N", 3, "H", "W")
    ),
    call(
        "resize_like",
        lambda x, y: F.interpolate(x, size=y.shape[2:], mode="bilinear"),
        f("N", 3, "H", "W"),
        f("N", 1, "D", "E"),
    ),
    call(
        "double_size",
        lambda x: F.interpolate(x, size=(x.shape[2] * 2, x.shape[3] + 3), mode="nearest"),
        f("N", 3, "H", "W"),
    ),
    module("pixel_shuffle", lambda: nn.PixelShuffle(3), f("N", 18, "H", "W")),
    module("pixel_unshuffle", lambda: nn.PixelUnshuffle(2), f("N", 3, 8, 10)),
    module("channel_shuffle", lambda: nn.ChannelShuffle(3), f("N", 12, "H", "W")),
    call("tall_pixel_shuffle", lambda x: torch.pixel_shuffle(x, 2), f(2, 3, 8, 5, 7)),
]
