"""Normalisations with batch statistics and with running statistics."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.outside.torch_modules.case import Case, call, f, module


def _with_statistics(make: type[nn.Module], *args: object, **more: object) -> nn.Module:
    """Return a batch norm with running statistics from data."""
    made = make(*args, **more)
    made.running_mean.normal_()  # pyright: ignore
    made.running_var.uniform_(0.3, 2.0)  # pyright: ignore
    return made


def _batch_norms() -> list[Case]:
    shapes = {1: ("N", 5, "L"), 2: ("N", 5, "H", "W"), 3: ("N", 5, "D", "E", 4)}
    kinds = {1: nn.BatchNorm1d, 2: nn.BatchNorm2d, 3: nn.BatchNorm3d}
    cases = [
        module(f"batch_norm_{r}d", lambda k=k: _with_statistics(k, 5), f(*shapes[r]))
        for r, k in kinds.items()
    ]
    cases += [
        module(f"batch_norm_{r}d_train", lambda k=k: k(5), f(*shapes[r]), train=True)
        for r, k in kinds.items()
    ]
    return [
        *cases,
        module("batch_norm_2_axes", lambda: _with_statistics(nn.BatchNorm1d, 5), f("N", 5)),
        module(
            "batch_norm_plain",
            lambda: _with_statistics(nn.BatchNorm2d, 5, affine=False, eps=1e-3),
            f("N", 5, "H", "W"),
        ),
        module(
            "batch_norm_untracked",
            lambda: nn.BatchNorm2d(5, track_running_stats=False),
            f("N", 5, "H", "W"),
        ),
    ]


CASES = [
    *_batch_norms(),
    module("group_norm", lambda: nn.GroupNorm(2, 6), f("N", 6, "H", "W")),
    module("group_norm_one", lambda: nn.GroupNorm(1, 6), f("N", 6, "L")),
    module("group_norm_each", lambda: nn.GroupNorm(6, 6, affine=False), f("N", 6, "D", "E", 3)),
    module("instance_norm_1d", lambda: nn.InstanceNorm1d(5), f("N", 5, "L")),
    module("instance_norm_2d", lambda: nn.InstanceNorm2d(5, affine=True), f("N", 5, "H", "W")),
    module("instance_norm_3d", lambda: nn.InstanceNorm3d(5), f("N", 5, "D", "E", 3)),
    module("layer_norm", lambda: nn.LayerNorm(7), f("N", "L", 7)),
    module("layer_norm_two", lambda: nn.LayerNorm((4, 7), elementwise_affine=False), f("N", 4, 7)),
    module("layer_norm_unbiased", lambda: nn.LayerNorm(7, bias=False), f("N", "L", 7)),
    call("layer_norm_large_mean", lambda x: F.layer_norm(x + 300, (9,)), f("N", 9)),
    module("rms_norm", lambda: nn.RMSNorm(7, eps=1e-6), f("N", "L", 7)),
    module("rms_norm_two", lambda: nn.RMSNorm((4, 7)), f("N", 4, 7)),
    module(
        "local_response", lambda: nn.LocalResponseNorm(3, alpha=0.02, k=1.4), f("N", 7, "H", "W")
    ),
    module("local_response_even", lambda: nn.LocalResponseNorm(4), f("N", 7, "L")),
    call("normalize_l2", lambda x: F.normalize(x, dim=1), f("N", 6, "L")),
    call("normalize_l1", lambda x: F.normalize(x, p=1.0, dim=-1), f("N", 6, "L")),
    module(
        "weight_norm", lambda: nn.utils.parametrizations.weight_norm(nn.Linear(7, 4)), f("N", 7)
    ),
    module(
        "spectral_norm", lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(7, 4)), f("N", 7)
    ),
    call(
        "standardize",
        lambda x: (x - x.mean((2, 3), True)) / x.std((2, 3), keepdim=True, unbiased=False),
        f("N", 3, "H", "W"),
    ),
    call(
        "standardize_unbiased",
        lambda x: (x - x.mean(-1, True)) / (x.std(-1, keepdim=True) + 1e-5),
        f("N", 3, "L"),
    ),
    call("var_mean", lambda x: torch.var_mean(x, dim=1, correction=1), f("N", 5, "L")),
]
