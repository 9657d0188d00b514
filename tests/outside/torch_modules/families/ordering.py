"""Sorting, largest elements, distinct elements, indices."""

import torch

from tests.outside.torch_modules.case import b, call, f, i, steps

X = steps("N", 5, "L")

CASES = [
    call("sort", lambda x: x.sort(-1), X),
    call("sort_down", lambda x: x.sort(1, descending=True), X),
    call("argsort", lambda x: x.argsort(-1), X),
    call("argsort_stable", lambda x: torch.argsort(x, dim=-1, stable=True), i(0, 4, "N", "L")),
    call("topk", lambda x: x.topk(3, 1), X),
    call("topk_smallest", lambda x: x.topk(2, -1, largest=False), X),
    call("topk_unsorted", lambda x: x.topk(4, 1, sorted=False)[0].sum(1), X),
    call("topk_of_size", lambda x: x.topk(x.shape[2] // 2, 2), X),
    call("kthvalue", lambda x: x.kthvalue(3, 1), X),
    call("unique", lambda x: torch.unique(x), i(0, 9, "N", "L")),
    call(
        "unique_counts",
        lambda x: torch.unique(x, return_inverse=True, return_counts=True),
        i(0, 5, "L"),
    ),
    call("unique_rows", lambda x: torch.unique(x, dim=0), i(0, 2, 6, 2)),
    call("unique_consecutive", lambda x: torch.unique_consecutive(x), i(0, 2, 9)),
    call("nonzero", lambda x: (x > 7).nonzero(), X),
    call("nonzero_tuple", lambda x: torch.nonzero(x, as_tuple=True), b("N", "L")),
    call("masked_select", lambda x, m: x.masked_select(m), f("N", "L"), b("N", "L")),
    call("bool_index", lambda x: x[x > 0], f("N", "L")),
    call("where_places", lambda m: torch.where(m), b("N", "L")),
    call("argwhere", lambda m: torch.argwhere(m), b("N", "L")),
    call(
        "bucketize", lambda x: torch.bucketize(x, torch.tensor([-1.0, 0.0, 0.5, 1.0])), f("N", "L")
    ),
    call(
        "searchsorted",
        lambda x: torch.searchsorted(torch.tensor([-1.0, 0.0, 0.5, 1.0]), x, right=True),
        f("N", "L"),
    ),
    call("median_by_sort", lambda x: x.sort(1)[0][:, 2], X),
    call("bincount", lambda x: torch.bincount(x, minlength=6), i(0, 6, 9)),
    call("histc", lambda x: torch.histc(x, 5, -2.0, 2.0), f(40)),
    call("isin", lambda x: torch.isin(x, torch.tensor([1, 3])), i(0, 5, "N", "L")),
]
