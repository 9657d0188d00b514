"""Tests of attention in ONNX Runtime's forms: its results, from generated code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler
from tests.compiler.ops.microsoft.test_microsoft import MS, assert_agrees, node_model
from tests.onnx_nodes import normal

B, S, H, D, G = 2, 5, 2, 8, 16


def i32(*values: Any) -> np.ndarray:
    return np.array(values, np.int32)


MASKS = {
    "none": None,
    "lengths": i32(3, 5),
    "rows": i32([1, 1, 1, 0, 0], [1, 1, 1, 1, 1]),
    "matrix": np.tril(np.ones((B, S, S), np.int32)),
}


@pytest.mark.parametrize("mask", list(MASKS))
@pytest.mark.parametrize("unidirectional", [0, 1])
def test_attention_with_its_projection(mask: str, unidirectional: int) -> None:
    x, w, b = normal(B, S, 12), normal(12, 3 * H * D, seed=1), normal(3 * H * D, seed=2)
    operands = [x, w / 4, b, MASKS[mask]]
    assert_agrees("Attention", operands, num_heads=H, unidirectional=unidirectional)


def test_attention_with_ends_and_starts_and_sizes_of_its_own() -> None:
    x, w, b = normal(B, S, 12), normal(12, 16 + 16 + 4, seed=1), normal(36, seed=2)
    sizes = {"qkv_hidden_sizes": [16, 16, 4]}
    assert_agrees("Attention", [x, w / 4, b, i32(4, 5, 1, 0)], num_heads=H, **sizes)


def test_attention_with_a_past() -> None:
    x, w, b = normal(B, S, 12), normal(12, 3 * H * D, seed=1), normal(3 * H * D, seed=2)
    past = normal(2, B, H, 3, D, seed=3)
    rest: dict[str, Any] = {"num_heads": H, "n_outputs": 2, "unidirectional": 1}
    assert_agrees("Attention", [x, w / 4, b, None, past], **rest)
    assert_agrees("Attention", [x, w / 4, b], **rest)
    assert_agrees("Attention", [x, w / 4, b, None, None, normal(1, H, S, S)], num_heads=H)


def qkv(width: int = H * D) -> list[np.ndarray | None]:
    return [normal(B, S, width), normal(B, 7, width, seed=1), normal(B, 7, width, seed=2)]


@pytest.mark.parametrize("has_bias", [False, True])
def test_attention_of_given_queries_and_keys(has_bias: bool) -> None:
    operands = [*qkv(), normal(3 * H * D, seed=3) if has_bias else None]
    assert_agrees("MultiHeadAttention", operands, num_heads=H)
    mask = i32([1] * 7, [1, 1, 1, 1, 0, 0, 0])
    assert_agrees("MultiHeadAttention", [*operands, mask], num_heads=H, scale=0.5)
    added = normal(1, H, S, 7, seed=5)
    assert_agrees("MultiHeadAttention", [*operands, None, added], num_heads=H)


def test_attention_of_given_heads_and_packed_ones() -> None:
    heads = [normal(B, S, H * D), normal(B, H, 7, D, seed=1), normal(B, H, 7, D, seed=2)]
    assert_agrees("MultiHeadAttention", heads, num_heads=H)


def test_packed_heads_are_the_same_as_those_of_one_tensor_each() -> None:
    """ONNX Runtime has no CPU kernel for this form, so an equivalent model is compared."""
    packed = normal(B, S, H, 3, D)
    rows = [np.ascontiguousarray(packed[:, :, :, i]).reshape(B, S, H * D) for i in range(3)]
    made = []
    for operands in ([packed], rows):
        program = compiler.compile(
            node_model("MultiHeadAttention", operands, 1, 17, MS, num_heads=H)
        )
        made.append(program.run({f"x{i}": o for i, o in enumerate(operands)})["y0"])
    np.testing.assert_allclose(made[0], made[1], rtol=1e-6)


def test_attention_of_given_queries_with_a_past() -> None:
    row = [normal(B, S, H * D, seed=i) for i in range(3)]
    past = [normal(B, H, 4, D, seed=i) for i in (6, 7)]
    operands = [*row, None, None, None, *past]
    assert_agrees("MultiHeadAttention", operands, num_heads=H, n_outputs=3, unidirectional=1)


@pytest.mark.parametrize("interleaved", [0, 1])
def test_rotated_positions(interleaved: int) -> None:
    cos, sin = np.cos(normal(9, D // 2)), np.sin(normal(9, D // 2))
    places = np.array([[0, 1, 2, 3, 4], [4, 2, 0, 8, 1]])
    rest = {"interleaved": interleaved}
    assert_agrees("RotaryEmbedding", [normal(B, S, H * D), places, cos, sin], **rest)
    assert_agrees("RotaryEmbedding", [normal(B, H, S, D), np.array([3]), cos, sin], **rest)
    partly = {"num_heads": H, "rotary_embedding_dim": D // 2, **rest}
    tables = [cos[:, : D // 4].copy(), sin[:, : D // 4].copy()]
    assert_agrees("RotaryEmbedding", [normal(B, S, H * D), places, *tables], **partly)


def grouped(new: int, past: int | None, lengths: list[int], total: int) -> list[Any]:
    """Return operands with 4 query heads and 2 key heads."""
    q = normal(B, new, 4 * G)
    k, v = normal(B, new, 2 * G, seed=1), normal(B, new, 2 * G, seed=2)
    caches = [None, None] if past is None else [normal(B, 2, past, G, seed=i) for i in (3, 4)]
    return [q, k, v, *caches, i32(*(n - 1 for n in lengths)), i32(total).reshape(())]


ANGLES = [np.cos(normal(16, G // 2)), np.sin(normal(16, G // 2))]
HEADS = {"num_heads": 4, "kv_num_heads": 2}
GROUPS = {**HEADS, "n_outputs": 3}


@pytest.mark.parametrize("rotary", [0, 1])
def test_groups_without_a_past(rotary: int) -> None:
    operands = grouped(5, None, [5, 5], 5)
    if rotary:
        operands += ANGLES
    assert_agrees("GroupQueryAttention", operands, do_rotary=rotary, **GROUPS)


@pytest.mark.parametrize("attrs", [{}, {"softcap": 2.0}, {"scale": 0.3}, {"local_window_size": 3}])
def test_groups_behind_a_past(attrs: dict[str, Any]) -> None:
    operands = grouped(1, 6, [7, 7], 7) + ANGLES
    assert_agrees("GroupQueryAttention", operands, do_rotary=1, **GROUPS, **attrs)


def test_groups_of_sequences_of_different_lengths() -> None:
    operands = grouped(1, 6, [4, 7], 7) + ANGLES
    assert_agrees("GroupQueryAttention", operands, do_rotary=1, unread=(1, 2), **GROUPS)


def test_groups_whose_cache_is_longer_than_the_sequence() -> None:
    assert_agrees("GroupQueryAttention", grouped(1, 12, [5, 7], 7), unread=(1, 2), **GROUPS)


def test_groups_whose_heads_are_packed() -> None:
    q, k, v, *rest = grouped(5, None, [5, 5], 5)
    packed = [np.concatenate([q, k, v], axis=2), None, None, *rest]
    assert_agrees("GroupQueryAttention", packed, **GROUPS)
