"""Reductions, cumulative sums, norms, counts."""

import torch

from tests.outside.torch_modules.case import b, call, f, i, steps, unit

X = f("N", 5, "L")

CASES = [
    call("sum", lambda x: x.sum(), X),
    call("sum_axes", lambda x: x.sum((0, 2)), X),
    call("sum_keep", lambda x: x.sum(1, keepdim=True), X),
    call("sum_whole", lambda x: x.sum(1), i(-9, 9, "N", 5, "L")),
    call("sum_bools", lambda x: x.sum(-1), b("N", "L")),
    call("mean", lambda x: x.mean((1, 2)), X),
    call("prod", lambda x: x.prod(1), X),
    call("prod_all", lambda x: x.prod(), unit("N", 7)),
    call("max_values", lambda x: x.max(2), steps("N", 5, "L")),
    call("min_all", lambda x: x.min(), X),
    call("amax", lambda x: x.amax((0, 2)), X),
    call("amin", lambda x: x.amin(-1, keepdim=True), X),
    call("aminmax", lambda x: torch.aminmax(x, dim=1), X),
    call("argmax", lambda x: x.argmax(1), steps("N", 5, "L")),
    call("argmax_flat", lambda x: x.argmax(), steps("N", 5, "L")),
    call("argmin_keep", lambda x: x.argmin(-1, keepdim=True), steps("N", 5, "L")),
    call("std", lambda x: x.std(1), X),
    call("var_all", lambda x: x.var(), X),
    call("std_biased", lambda x: x.std((0, 2), unbiased=False, keepdim=True), X),
    call("norm_2", lambda x: x.norm(dim=1), X),
    call("norm_1", lambda x: x.norm(p=1, dim=(1, 2)), X),
    call("norm_3", lambda x: x.norm(p=3, dim=1), X),
    call("norm_inf", lambda x: torch.linalg.vector_norm(x, float("inf"), dim=1), X),
    call(
        "norm_0",
        lambda x: torch.linalg.vector_norm(x, 0, dim=1),
        i(0, 3, "N", 5, dtype=torch.float32),
    ),
    call("matrix_norm", lambda x: torch.linalg.norm(x, dim=(1, 2)), X),
    call("logsumexp", lambda x: x.logsumexp(1), f("N", 5, "L", scale=60)),
    call("logsumexp_axes", lambda x: x.logsumexp((0, 2), keepdim=True), X),
    call("all", lambda x: x.all(1), b("N", "L")),
    call("any", lambda x: x.any(-1, keepdim=True), b("N", "L")),
    call("any_all", lambda x: (x > 2).any(), X),
    call("count_nonzero", lambda x: torch.count_nonzero(x, dim=1), i(0, 3, "N", "L")),
    call("cumsum", lambda x: x.cumsum(1), X),
    call("cumsum_whole", lambda x: x.cumsum(-1), i(-9, 9, "N", "L")),
    call("cumsum_back", lambda x: x.flip(1).cumsum(1).flip(1), X),
    call("cumprod", lambda x: x.cumprod(1), X),
    call("cummax", lambda x: x.cummax(1)[0], X),
    call("logcumsumexp", lambda x: x.logcumsumexp(1), X),
    call("median", lambda x: x.median(1)[0], steps("N", 5)),
    call("diff", lambda x: x.diff(dim=2), X),
    call("trapezoid", lambda x: torch.trapezoid(x, dim=1), X),
    call("weighted_mean", lambda x, w: (x * w).sum(1) / w.sum(1), X, unit("N", 5, "L")),
    call("softmax_entropy", lambda x: -(x.softmax(-1) * x.log_softmax(-1)).sum(-1), X),
    call("nansum", lambda x: (x - 1).sqrt().nansum(1), X),
]
