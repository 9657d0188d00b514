"""Attention, transformer layers and embeddings."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.outside.torch_modules.case import Case, Input, b, call, f, i, module, values

HEADS = ("N", 4, "L", 8)


def _scaled(name: str, **how: object) -> Case:
    return call(
        f"scaled_{name}",
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, **how),
        f(*HEADS),
        f(*HEADS),
        f(*HEADS),
    )  # pyright: ignore


class SelfAttention(nn.Module):
    """MultiheadAttention of x over x itself."""

    def __init__(self, weights: bool, **how: object) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(12, 3, batch_first=True, **how)  # pyright: ignore
        self.weights = weights

    def forward(self, x: torch.Tensor) -> object:
        return self.attention(x, x, x, need_weights=self.weights)


class CrossAttention(nn.Module):
    """MultiheadAttention over another sequence, which is partly padding."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(12, 3, kdim=6, vdim=7, batch_first=True)

    def forward(self, x: torch.Tensor, k: torch.Tensor, v: torch.Tensor, m: torch.Tensor) -> object:
        return self.attention(x, k, v, key_padding_mask=m)


PADDED = Input(
    ("N", 5), lambda g, s: torch.arange(5).expand(s) > 2 + torch.arange(s[0])[:, None] % 2
)
"""Which of five positions are padding."""


def _rotary(x: torch.Tensor) -> torch.Tensor:
    at = torch.arange(x.shape[2], dtype=x.dtype)[:, None] / 10.0 ** torch.arange(4)
    turned = torch.cat([-x[..., 4:], x[..., :4]], -1)
    return x * at.cos().repeat(1, 2) + turned * at.sin().repeat(1, 2)


CASES = [
    _scaled("plain"),
    _scaled("causal", is_causal=True),
    _scaled("given_scale", scale=0.3),
    call(
        "scaled_mask",
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m),
        f(*HEADS),
        f(*HEADS),
        f(*HEADS),
        f("N", 1, "L", "L"),
    ),
    call(
        "scaled_bool_mask",
        lambda q, k, v, m: F.scaled_dot_product_attention(
            q, k, v, m | torch.eye(9, dtype=torch.bool)
        ),
        f(2, 4, 9, 8),
        f(2, 4, 9, 8),
        f(2, 4, 9, 8),
        b(9, 9),
    ),
    call(
        "scaled_grouped",
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
        f(*HEADS),
        f("N", 2, "L", 8),
        f("N", 2, "L", 8),
    ),
    call(
        "scaled_other_length",
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v),
        f("N", 4, "L", 8),
        f("N", 4, "E", 8),
        f("N", 4, "E", 5),
    ),
    call(
        "scaled_three_axes",
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v),
        f("N", "L", 8),
        f("N", "E", 8),
        f("N", "E", 5),
    ),
    call(
        "by_hand",
        lambda q, k, v: torch.softmax(q @ k.transpose(-1, -2) / 8**0.5, -1) @ v,
        f(*HEADS),
        f(*HEADS),
        f(*HEADS),
    ),
    call(
        "by_hand_causal",
        lambda q, k: (
            (q @ k.mT).masked_fill(torch.ones(9, 9).triu(1).bool(), float("-inf")).softmax(-1)
        ),
        f("N", 9, 8),
        f("N", 9, 8),
    ),
    module("multihead", lambda: SelfAttention(True), f("N", "L", 12)),
    module("multihead_no_weights", lambda: SelfAttention(False), f("N", "L", 12)),
    module(
        "multihead_bias", lambda: SelfAttention(True, add_bias_kv=True, bias=False), f("N", "L", 12)
    ),
    module("multihead_zero", lambda: SelfAttention(False, add_zero_attn=True), f(2, 9, 12)),
    module("cross", CrossAttention, f("N", "L", 12), f("N", 5, 6), f("N", 5, 7), PADDED),
    module(
        "encoder_layer",
        lambda: nn.TransformerEncoderLayer(12, 3, 20, batch_first=True),
        f("N", "L", 12),
    ),
    module(
        "encoder_layer_first",
        lambda: nn.TransformerEncoderLayer(12, 3, 20, norm_first=True, activation="gelu"),
        f("L", "N", 12),
    ),
    module(
        "encoder",
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(12, 3, 20), 2, nn.LayerNorm(12)),
        f("L", "N", 12),
    ),
    module(
        "decoder_layer",
        lambda: nn.TransformerDecoderLayer(12, 3, 20, batch_first=True),
        f("N", "L", 12),
        f("N", "E", 12),
    ),
    module(
        "decoder",
        lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(12, 2, 20, batch_first=True), 2),
        f(2, 5, 12),
        f(2, 7, 12),
    ),
    module(
        "transformer",
        lambda: nn.Transformer(12, 3, 1, 1, 20, batch_first=True),
        f(2, 5, 12),
        f(2, 7, 12),
    ),
    module("embedding", lambda: nn.Embedding(11, 5), i(0, 11, "N", "L")),
    module("embedding_padding", lambda: nn.Embedding(11, 5, padding_idx=3), i(0, 11, "N", "L")),
    module("embedding_bag_mean", lambda: nn.EmbeddingBag(11, 5, mode="mean"), i(0, 11, "N", "L")),
    module("embedding_bag_sum", lambda: nn.EmbeddingBag(11, 5, mode="sum"), i(0, 11, 3, 7)),
    module("embedding_bag_max", lambda: nn.EmbeddingBag(11, 5, mode="max"), i(0, 11, 3, 7)),
    call(
        "embedding_bag_offsets",
        lambda x, o, w: F.embedding_bag(x, w, o),
        i(0, 11, 9),
        values(0, 3, 7, dtype=torch.int64),
        f(11, 5),
    ),
    call("rotary", _rotary, f("N", 3, "L", 8)),
    call("one_hot", lambda x: F.one_hot(x, 7), i(0, 7, "N", "L")),
    call(
        "cosine_similarity",
        lambda x, y: F.cosine_similarity(x, y, dim=1),
        f("N", 6, "L"),
        f("N", 6, "L"),
    ),
    call("pairwise_distance", lambda x, y: F.pairwise_distance(x, y), f("N", 6), f("N", 6)),
    call("cdist", lambda x, y: torch.cdist(x, y), f("N", "L", 6), f("N", "E", 6)),
    call("cdist_l1", lambda x, y: torch.cdist(x, y, p=1.0), f(4, 6), f(5, 6)),
]
