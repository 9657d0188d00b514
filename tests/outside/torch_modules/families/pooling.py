"""Pools with unusual windows, ceil_mode, indices; adaptive and fractional pools; padding."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.outside.torch_modules.case import call, f, i, module, steps

LINE, IMAGE, VOLUME = ("N", 4, "L"), ("N", 4, "H", "W"), ("N", 3, "D", "E", 6)

POOLS = {
    "max_1d": (lambda: nn.MaxPool1d(3, 2, 1), LINE),
    "max_1d_ceil": (lambda: nn.MaxPool1d(4, 3, ceil_mode=True), LINE),
    "max_2d": (lambda: nn.MaxPool2d(2), IMAGE),
    "max_2d_odd": (lambda: nn.MaxPool2d((3, 2), (2, 3), (1, 0), (2, 1), ceil_mode=True), IMAGE),
    "max_2d_dilated": (lambda: nn.MaxPool2d(3, 1, 1, dilation=3), IMAGE),
    "max_3d": (lambda: nn.MaxPool3d((2, 3, 1), 2, (1, 1, 0), ceil_mode=True), VOLUME),
    "average_1d": (lambda: nn.AvgPool1d(3, 2, 1), LINE),
    "average_1d_ceil": (lambda: nn.AvgPool1d(4, 3, 2, ceil_mode=True), LINE),
    "average_1d_ceil_inside": (
        lambda: nn.AvgPool1d(4, 3, 2, ceil_mode=True, count_include_pad=False),
        LINE,
    ),
    "average_2d": (lambda: nn.AvgPool2d((3, 2), (2, 3), (1, 0)), IMAGE),
    "average_2d_inside": (lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False), IMAGE),
    "average_2d_ceil": (lambda: nn.AvgPool2d((4, 3), (3, 2), (2, 1), ceil_mode=True), IMAGE),
    "average_3d": (lambda: nn.AvgPool3d((2, 3, 1), (1, 2, 2), (1, 0, 0), ceil_mode=True), VOLUME),
    "lp_1d": (lambda: nn.LPPool1d(2, 3, 2), LINE),
    "lp_2d": (lambda: nn.LPPool2d(2, (3, 2), 2), IMAGE),
    "lp_2d_odd_norm": (lambda: nn.LPPool2d(3, 2), IMAGE),
    "adaptive_average_1d": (lambda: nn.AdaptiveAvgPool1d(1), LINE),
    "adaptive_average_2d": (lambda: nn.AdaptiveAvgPool2d(1), IMAGE),
    "adaptive_average_3d": (lambda: nn.AdaptiveAvgPool3d(1), VOLUME),
    "adaptive_max_1d": (lambda: nn.AdaptiveMaxPool1d(1), LINE),
    "adaptive_max_2d": (lambda: nn.AdaptiveMaxPool2d(1), IMAGE),
    "adaptive_average_parts": (lambda: nn.AdaptiveAvgPool2d((3, 4)), ("N", 4, 12, 8)),
    "adaptive_average_uneven": (lambda: nn.AdaptiveAvgPool2d((3, 4)), (2, 4, 13, 11)),
    "adaptive_max_parts": (lambda: nn.AdaptiveMaxPool2d((3, 4)), ("N", 4, 12, 8)),
    "fractional": (
        lambda: nn.FractionalMaxPool2d(
            2, output_size=(4, 5), _random_samples=torch.full((2, 4, 2), 0.3)
        ),
        (2, 4, 9, 11),
    ),
}

PADDINGS = {
    "zeros": (lambda: nn.ZeroPad2d((1, 2, 3, 0)), IMAGE),
    "constant_1d": (lambda: nn.ConstantPad1d((2, 1), 3.5), LINE),
    "constant_3d": (lambda: nn.ConstantPad3d((1, 0, 2, 1, 0, 3), -1.0), VOLUME),
    "reflect_1d": (lambda: nn.ReflectionPad1d((3, 2)), LINE),
    "reflect_2d": (lambda: nn.ReflectionPad2d((1, 4, 3, 2)), IMAGE),
    "reflect_3d": (lambda: nn.ReflectionPad3d((1, 2, 3, 2, 1, 0)), VOLUME),
    "replicate_1d": (lambda: nn.ReplicationPad1d((3, 5)), LINE),
    "replicate_2d": (lambda: nn.ReplicationPad2d((0, 4, 13, 2)), IMAGE),
    "replicate_3d": (lambda: nn.ReplicationPad3d((1, 2, 3, 2, 1, 0)), VOLUME),
    "circular_1d": (lambda: nn.CircularPad1d((3, 2)), LINE),
    "circular_2d": (lambda: nn.CircularPad2d((1, 4, 0, 2)), IMAGE),
}

CASES = [
    *(module(name, make, f(*shape)) for name, (make, shape) in POOLS.items()),
    *(module(f"pad_{name}", make, f(*shape)) for name, (make, shape) in PADDINGS.items()),
    module(
        "max_2d_indices",
        lambda: nn.MaxPool2d(3, 2, 1, return_indices=True),
        steps("N", 4, "H", "W"),
    ),
    module("max_1d_indices", lambda: nn.MaxPool1d(3, 2, return_indices=True), steps("N", 4, "L")),
    call(
        "unpool",
        lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2),
        steps(2, 3, 8, 6),
    ),
    call("pad_negative", lambda x: F.pad(x, (-2, 3, 1, -1), value=9.0), f(*IMAGE)),
    call("pad_last_of_five", lambda x: F.pad(x, (1, 2), "constant", 0.5), f("N", 3, 2, "D", 4)),
    call("pad_whole_numbers", lambda x: F.pad(x, (1, 2, 0, 1), value=7), i(-9, 9, "N", "L", 4)),
    call("max_pool_whole_global", lambda x: F.max_pool2d(x, x.shape[2:]), f(2, 3, 6, 5)),
    call("average_divisor", lambda x: F.avg_pool2d(x, 3, divisor_override=5), f("N", 3, "H", "W")),
]
