"""Gathering and scattering elements, slices, rolls, rotations, shapes."""

import torch
from torch.nn import functional as F

from tests.outside.torch_modules.case import b, call, f, i

X = f("N", 5, "L")
PLACES = i(0, 5, "N", 3, "L")


def _assigned(x: torch.Tensor) -> torch.Tensor:
    made = x.clone()
    made[:, 1:3] = 7.0
    made[0, -1] = x[-1, 0]
    return made


def _assigned_steps(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    made = x.clone()
    made[:, ::2] = y
    return made


def _assigned_mask(x: torch.Tensor) -> torch.Tensor:
    made = x.clone()
    made[made < 0] = 0.25
    return made


CASES = [
    call("gather", lambda x, p: x.gather(1, p), X, PLACES),
    call("gather_last", lambda x, p: x.gather(-1, p), f("N", "L", 5), i(0, 5, "N", "L", 2)),
    call("take_along", lambda x, p: torch.take_along_dim(x, p, 1), X, PLACES),
    call("take", lambda x, p: torch.take(x, p), f("N", 5), i(0, 10, 4)),
    call("index_select", lambda x, p: x.index_select(1, p), X, i(0, 5, 4)),
    call("index_one", lambda x, p: x[:, p], X, i(-5, 5, 2, 3)),
    call("index_two", lambda x, p, q: x[p, q], X, i(0, 2, 4), i(0, 5, 4)),
    call("index_apart", lambda x, p, q: x[p, :, q], X, i(0, 2, 4), i(0, 9, 4)),
    call("index_list", lambda x: x[:, [0, 3, 1]], X),
    call("index_row", lambda x: x[-1, 2], X),
    call("index_new_axis", lambda x: x[:, None, ..., -1], X),
    call("scatter", lambda x, p, y: x.scatter(1, p, y), X, i(0, 5, "N", 1, "L"), f("N", 1, "L")),
    call("scatter_value", lambda x, p: x.scatter(1, p, 1.5), X, PLACES),
    call("scatter_add", lambda x, p, y: x.scatter_add(1, p, y), X, PLACES, f("N", 3, "L")),
    *(
        call(
            f"scatter_reduce_{how}{'_alone' if not own else ''}",
            lambda x, p, y, how=how, own=own: x.scatter_reduce(1, p, y, how, include_self=own),
            X,
            PLACES,
            f("N", 3, "L"),
        )
        for how in ("sum", "prod", "mean", "amax", "amin")
        for own in (True, False)
    ),
    call("index_add", lambda x, p, y: x.index_add(1, p, y), X, i(0, 5, 3), f("N", 3, "L")),
    call("index_copy", lambda x, y: x.index_copy(1, torch.tensor([3, 0]), y), X, f("N", 2, "L")),
    call("index_fill", lambda x: x.index_fill(1, torch.tensor([3, 0]), -1.0), X),
    call("index_put", lambda x, p, y: x.index_put((p,), y), f(6, 5), i(0, 6, 1), f(1, 5)),
    call(
        "index_put_add",
        lambda x, p, y: x.index_put((p,), y, accumulate=True),
        f(6, 5),
        i(0, 6, 4),
        f(4, 5),
    ),
    call("masked_fill", lambda x, m: x.masked_fill(m, -1e4), X, b("N", 1, "L")),
    call("masked_scatter", lambda x, m, y: x.masked_scatter(m, y), f(3, 5), b(3, 5), f(15)),
    call("where", lambda m, x, y: torch.where(m, x, y), b("N", 1, "L"), X, f(5, 1)),
    call("where_number", lambda x: torch.where(x > 0, x, 0.1), X),
    call("assigned", _assigned, X),
    call("assigned_steps", _assigned_steps, f("N", 6, "L"), f("N", 3, "L")),
    call("assigned_mask", _assigned_mask, X),
    call(
        "slice_scatter", lambda x, y: x.slice_scatter(y, 1, 1, 5, 2), f("N", 6, "L"), f("N", 2, "L")
    ),
    call("select_scatter", lambda x, y: x.select_scatter(y, 1, 2), X, f("N", "L")),
    call("slices", lambda x: x[:, 1:-1:2, -4:], X),
    call("narrow", lambda x: x.narrow(1, 1, 3), X),
    call("split", lambda x: x.split(2, 1), X),
    call("split_sizes", lambda x: x.split([1, 3, 1], 1), X),
    call("chunk", lambda x: x.chunk(3, 1), X),
    call("unbind", lambda x: x.unbind(1), X),
    call("tensor_split", lambda x: x.tensor_split((1, 4), 1), X),
    call("cat", lambda x, y: torch.cat([x, y, x], 2), X, f("N", 5, "E")),
    call("stack", lambda x: torch.stack([x, x * 2], 1), X),
    call("roll", lambda x: x.roll((1, -2), (1, 2)), X),
    call("roll_flat", lambda x: x.roll(3), X),
    call("flip", lambda x: x.flip((0, 2)), X),
    call("rot90", lambda x: x.rot90(1, (1, 2)), X),
    call("rot90_thrice", lambda x: torch.rot90(x, 3, (2, 1)), X),
    call("repeat", lambda x: x.repeat(2, 1, 3), X),
    call("tile", lambda x: x.tile((2, 1)), X),
    call("repeat_interleave", lambda x: x.repeat_interleave(3, 1), X),
    call(
        "repeat_interleave_counts",
        lambda x: x.repeat_interleave(torch.tensor([2, 0, 1, 3, 1]), 1),
        X,
    ),
    call("expand", lambda x: x.expand(-1, 4, -1), f("N", 1, "L")),
    call("expand_as", lambda x, y: x.expand_as(y), f(1, 5, 1), X),
    call("broadcast_to", lambda x: x.broadcast_to((2, 3, 5)), f(3, 1)),
    call("permute", lambda x: x.permute(2, 0, 1), X),
    call("movedim", lambda x: x.movedim(0, -1), X),
    call("flatten", lambda x: x.flatten(1), X),
    call("unflatten", lambda x: x.unflatten(1, (2, 3)), f("N", 6, "L")),
    call("view_open", lambda x: x.view(x.shape[0], -1, 5), X),
    call("reshape_sizes", lambda x: x.reshape(x.shape[0] * x.shape[2], 5), X),
    call("squeeze", lambda x: x.squeeze(1), f("N", 1, "L")),
    call("triu", lambda x: x.triu(1), f("N", "H", "W")),
    call("tril", lambda x: x.tril(-2), f("N", "H", "W")),
    call("diagonal", lambda x: x.diagonal(1, 1, 2), f("N", 5, 6)),
    call("diag_embed", lambda x: torch.diag_embed(x), f("N", 5)),
    call("diag", lambda x: torch.diag(x), f(5, 5)),
    call("meshgrid", lambda x, y: torch.meshgrid(x, y, indexing="ij"), f("H"), f("W")),
    call(
        "arange_of_size", lambda x: torch.arange(x.shape[1], dtype=torch.float32) + x, f("N", "L")
    ),
    call("linspace", lambda x: x + torch.linspace(0, 1, 9), f("N", 9)),
    call("zeros_like", lambda x: torch.zeros_like(x) + torch.ones(x.shape[2]), X),
    call("full_of_size", lambda x: torch.full((x.shape[0], 3), 2.5), X),
    call("eye", lambda x: torch.eye(5) * x, f("N", 5, 5)),
    call("pad_sequence_like", lambda x: F.pad(x, (0, 12 - x.shape[1])), f(2, 9)),
    call("atleast_3d", lambda x: torch.atleast_3d(x), f("N", 5)),
    call(
        "swap_and_pick", lambda x, p: x.transpose(1, 2)[torch.arange(2), p], f(2, 5, 9), i(0, 9, 2)
    ),
    call("outer_places", lambda x, p: x[p[:, None], p[None]], f(5, 5), i(0, 5, 3)),
]
