"""Tests of Col2Im against its definition: each element of a block is added at its position."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.onnx_nodes import computed

Array = np.ndarray[Any, Any]


def by_definition(
    x: Array, image: Sequence[int], block: Sequence[int], dilations: Sequence[int], pad: int
) -> Array:
    """Add all elements to a padded image, without strides; return the image inside the padding."""
    starts = [n + 2 * pad - d * (b - 1) for n, b, d in zip(image, block, dilations, strict=True)]
    parts = x.reshape(len(x), -1, *block, *starts)
    out = np.zeros((len(x), parts.shape[1], *(n + 2 * pad for n in image)), x.dtype)
    for inner in np.ndindex(*block):
        for start in itertools.product(*map(range, starts)):
            at = tuple(s + i * d for s, i, d in zip(start, inner, dilations, strict=True))
            out[(..., *at)] += parts[(slice(None), slice(None), *inner, *start)]
    return out[(..., *(slice(pad, pad + n) for n in image))]


@pytest.mark.parametrize("pad", [0, 1])
@pytest.mark.parametrize(
    ("image", "block", "dilations"),
    [((5,), (2,), (2,)), ((4, 7), (2, 3), (1, 2)), ((3, 4, 6), (2, 1, 3), (1, 2, 2))],
)
@pytest.mark.parametrize("by", ["reference", "lowering"])
def test_dilated_blocks_are_added_at_their_positions(
    by: str, image: Sequence[int], block: Sequence[int], dilations: Sequence[int], pad: int
) -> None:
    starts = [n + 2 * pad - d * (b - 1) for n, b, d in zip(image, block, dilations, strict=True)]
    n_columns = int(np.prod(starts))
    x = np.arange(2 * 3 * np.prod(block) * n_columns, dtype=np.float32)
    x = x.reshape(2, -1, n_columns)
    attrs = {"dilations": list(dilations), "pads": [pad] * 2 * len(image)}
    made = computed("Col2Im", x, np.array(image), np.array(block), opset=18, by=by, **attrs)
    np.testing.assert_array_equal(made, by_definition(x, image, block, dilations, pad))
