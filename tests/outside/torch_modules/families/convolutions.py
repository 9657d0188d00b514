"""Convolutions and transposed convolutions of one to three axes, with unusual parameters."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.outside.torch_modules.case import call, f, module

LINE, IMAGE, VOLUME = ("N", 6, "L"), ("N", 6, "H", "W"), ("N", 4, "D", "E", 6)

CONVOLUTIONS = {
    "1d": lambda: nn.Conv1d(6, 5, 3),
    "1d_wide_steps": lambda: nn.Conv1d(6, 5, 2, stride=3, padding=1),
    "1d_dilated": lambda: nn.Conv1d(6, 4, 3, dilation=4, padding=4, groups=2),
    "1d_same": lambda: nn.Conv1d(6, 5, 4, padding="same"),
    "1d_reflect": lambda: nn.Conv1d(6, 5, 5, padding=2, padding_mode="reflect"),
    "1d_depthwise": lambda: nn.Conv1d(6, 12, 3, groups=6, padding=2, bias=False),
    "2d": lambda: nn.Conv2d(6, 5, 3, padding=1),
    "2d_pointwise": lambda: nn.Conv2d(6, 17, 1),
    "2d_odd": lambda: nn.Conv2d(6, 5, (2, 5), stride=(3, 2), padding=(1, 4), dilation=(3, 1)),
    "2d_groups": lambda: nn.Conv2d(6, 9, (3, 1), groups=3, padding=(0, 2), stride=2),
    "2d_depthwise": lambda: nn.Conv2d(6, 6, 5, groups=6, padding=2, stride=2),
    "2d_dilated_depthwise": lambda: nn.Conv2d(6, 12, 3, groups=6, padding=3, dilation=3),
    "2d_same_even": lambda: nn.Conv2d(6, 5, (4, 2), padding="same", dilation=(1, 2)),
    "2d_circular": lambda: nn.Conv2d(6, 5, 3, padding=(1, 2), padding_mode="circular"),
    "2d_replicate": lambda: nn.Conv2d(6, 5, 3, padding=1, padding_mode="replicate", stride=2),
    "2d_large_window": lambda: nn.Conv2d(6, 3, (11, 9)),
    "2d_large_stride": lambda: nn.Conv2d(6, 3, 2, stride=5),
    "3d": lambda: nn.Conv3d(4, 3, 3, padding=1),
    "3d_odd": lambda: nn.Conv3d(4, 6, (2, 3, 1), stride=(1, 2, 3), padding=(1, 0, 2), groups=2),
    "3d_dilated": lambda: nn.Conv3d(4, 3, 2, dilation=(1, 2, 3), bias=False),
}

TRANSPOSED = {
    "1d": lambda: nn.ConvTranspose1d(6, 5, 3),
    "1d_stride": lambda: nn.ConvTranspose1d(6, 5, 4, stride=3, padding=2, output_padding=1),
    "1d_groups": lambda: nn.ConvTranspose1d(6, 4, 3, stride=2, groups=2, dilation=2),
    "2d": lambda: nn.ConvTranspose2d(6, 5, 3, padding=1),
    "2d_double": lambda: nn.ConvTranspose2d(6, 5, 4, stride=2, padding=1),
    "2d_odd": lambda: nn.ConvTranspose2d(
        6, 5, (3, 2), stride=(2, 3), padding=(2, 0), output_padding=(1, 2), dilation=(2, 1)
    ),
    "2d_depthwise": lambda: nn.ConvTranspose2d(6, 6, 3, stride=2, groups=6, bias=False),
    "2d_small_window": lambda: nn.ConvTranspose2d(6, 3, 1, stride=2),
    "3d": lambda: nn.ConvTranspose3d(4, 3, (2, 3, 1), stride=(2, 1, 2), padding=(0, 1, 0)),
    "3d_groups": lambda: nn.ConvTranspose3d(4, 6, 2, stride=2, groups=2),
}


def _shape(name: str) -> tuple[int | str, ...]:
    return {"1": LINE, "2": IMAGE, "3": VOLUME}[name[0]]


CASES = [
    *(module(f"conv_{name}", make, f(*_shape(name))) for name, make in CONVOLUTIONS.items()),
    *(module(f"transposed_{name}", make, f(*_shape(name))) for name, make in TRANSPOSED.items()),
    call(
        "conv_given_weights",
        lambda x, w: F.conv2d(x, w, padding=1),
        f("N", 4, "H", "W"),
        f(5, 4, 3, 3),
    ),
    call(
        "transposed_given_weights",
        lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1, groups=2),
        f("N", 4, "H", "W"),
        f(4, 3, 3, 3),
    ),
    call(
        "transposed_to_size",
        lambda x, w: F.conv_transpose1d(x, w, stride=3, output_padding=2),
        f("N", 4, "L"),
        f(4, 3, 5),
    ),
    module(
        "separable",
        lambda: nn.Sequential(
            nn.Conv2d(6, 6, 3, groups=6, padding=1), nn.Conv2d(6, 10, 1), nn.ReLU6()
        ),
        f(*IMAGE),
    ),
    module(
        "conv_bn_relu",
        lambda: nn.Sequential(nn.Conv2d(6, 8, 3, stride=2), nn.BatchNorm2d(8), nn.ReLU()),
        f(*IMAGE),
    ),
    module("bilinear", lambda: nn.Bilinear(5, 6, 4), f("N", 5), f("N", 6)),
    module("linear", lambda: nn.Linear(7, 5), f("N", "L", 7)),
    module("linear_unbiased", lambda: nn.Linear(7, 1, bias=False), f("N", 7)),
    call(
        "unfold",
        lambda x: F.unfold(x, (3, 2), dilation=(1, 2), padding=1, stride=(2, 1)),
        f("N", 3, "H", "W"),
    ),
    call("fold", lambda x: F.fold(x, (7, 9), (3, 2), padding=1, stride=2), f("N", 24, 20)),
    call(
        "fold_dilated",
        lambda x: F.fold(x, (7, 9), (3, 2), dilation=(2, 3), padding=1, stride=(1, 2)),
        f("N", 18, 20),
    ),
    call("tensor_unfold", lambda x: x.unfold(2, 3, 2), f(2, 3, 9)),
    call(
        "complex_free_polynomial",
        lambda x: torch.stack([x**k for k in range(4)], -1) @ torch.tensor([1.0, -2.0, 0.5, 3.0]),
        f("N", 7),
    ),
]
